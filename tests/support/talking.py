"""Small packages that say what they do in their own texts, as installed in a project."""

from pathlib import Path

from tests.support.environments import install as install_python
from tests.support.environments import make_environment
from tests.support.installed import install, write

# By ecosystem and name: a plain description, and texts by their paths.
PACKAGES = {
    ("npm", "barline"): (
        "Bars for the web",
        {
            "index.d.ts": """/**
 * Draws an EAN barcode onto a canvas element.
 * @param code the digits
 */
export declare function draw(code: string): void;
""",
            "lib/checksum.js": """'use strict';
exports.check = function check(code) {
  if (!digits.test(code)) throw new ChecksumError('check digit of ' + code + ' does not add up');
};
""",
            "test/rounding.test.js": "describe('quiet zone', () => { it('keeps its margin', f) })",
            "test/fixtures/upside-down-label.json": "{}",
            "node_modules/other/index.js": "throw new Error('of another package entirely');",
            "dist/barline.min.js": "throw new Error('minified away for good');",
        },
    ),
    ("npm", "@acme/muxer"): (
        "Streams",
        {
            "dist/index.d.cts": "/** Splits one socket into many channels. */\nexport = mux;",
            "dist/index.cjs": "throw new Error(`Channel ${id} was closed by its peer`);",
            "dist/index.js": "throw new Error(`Channel ${id} was closed by its peer`);",
        },
    ),
    ("pypi", "globular"): (
        "Work with globes",
        {
            "globular/__init__.py": '''"""Measure great-circle distances between places."""
from globular._core import haversine
__all__ = ["haversine"]
''',
            "globular/_core.py": '''
def haversine(one, other):
    """Return the kilometres from one city to another."""
    if abs(one.lat) > 90:
        raise OffGlobe(
            f"latitude {one.lat} lies"
            " beyond the pole"
        )
''',
            "globular/tests/test_core.py": "def test_the_antimeridian_is_crossed(): ...\n",
        },
    ),
    ("cargo", "framer"): (
        "Frames",
        {
            "src/lib.rs": """//! Cut a stream of bytes into frames.

/// A decoder for frames that begin with their length in big endian.
pub struct LengthDecoder;

#[derive(Error)]
pub enum FrameError {
    #[error("frame of {0} bytes exceeds the maximum")]
    TooBig(usize),
}
""",
            "tests/partial.rs": "#[test]\nfn a_partial_header_waits_for_more() {}\n",
        },
    ),
    ("go", "example.com/trellis"): (
        "Handlers",
        {
            "trellis.go": """package trellis

// Climb walks the handlers of a route in the order of their priority.
func Climb() error { return errors.New("trellis: rung has no handler") }
""",
            "trellis_test.go": "package trellis\n\nfunc TestBrokenLadder(t *testing.T) {}\n",
        },
    ),
}

# What somebody pastes or asks, by the package that it leads to.
ASKED = {
    "ChecksumError: check digit of 4006381333931 does not add up": "barline",
    "draw an EAN barcode": "barline",
    "upside down label": "barline",
    "Error: Channel 7 was closed by its peer": "@acme/muxer",
    "split a socket into channels": "@acme/muxer",
    "globular.OffGlobe: latitude 97.5 lies beyond the pole": "globular",
    "kilometres from one city to another": "globular",
    "crossing the antimeridian": "globular",
    'TooBig: frame of 70000 bytes exceeds the maximum: "': "framer",
    "length in big endian": "framer",
    "panic: trellis: rung has no handler": "example.com/trellis",
    "walk handlers by priority": "example.com/trellis",
}


def install_talking(root: Path, home: Path) -> dict[str, str]:
    """Install the packages for a project, with manifests; return where each one lies."""
    places: dict[str, str] = {}
    named = {eco: [name for e, name in PACKAGES if e == eco] for eco, _ in PACKAGES}
    write(root / "package.json", {"name": "shop", "dependencies": dict.fromkeys(named["npm"], "1")})
    write(root / "requirements.txt", "\n".join(named["pypi"]))
    crates = "".join(f'{name} = "1.0.0"\n' for name in named["cargo"])
    write(root / "Cargo.toml", f'[package]\nname = "shop"\n[dependencies]\n{crates}')
    locked = (f'[[package]]\nname = "{name}"\nversion = "1.0.0"\n' for name in named["cargo"])
    write(root / "Cargo.lock", "".join(locked))
    modules = "".join(f"\t{name} v1.0.0\n" for name in named["go"])
    write(root / "go.mod", f"module example.com/shop\n\nrequire (\n{modules})\n")
    site = make_environment(root)
    for (ecosystem, name), (description, texts) in PACKAGES.items():
        if ecosystem == "npm":
            folder = install(root, name, description=description)
        elif ecosystem == "cargo":
            folder = home / f".cargo/registry/src/index/{name}-1.0.0"
            write(folder / "Cargo.toml", f'[package]\nname = "{name}"\ndescription = "Frames"\n')
        elif ecosystem == "go":
            folder = home / f"go/pkg/mod/{name}@v1.0.0"
            write(folder / "go.mod", f"module {name}\n")
        else:
            places[name] = str(install_python(site, name, "1.0.0", texts))
            continue
        places[name] = str(folder)
        for path, text in texts.items():
            write(folder / path, text)
    return places
