"""Images are read in a child process: what becomes of good ones, and of bad ones."""

import json
import struct
import zlib

import pytest
from PIL import ExifTags, Image
from PIL.PngImagePlugin import PngInfo

import irdaemon as ir
from irdaemon.runtime.pool import end_all
from irdaemon.source.files import Files
from irdaemon.source.files.asset import find_missing_ocr
from irdaemon.types import Root, SourceError

PEAS = "peas climbing a trellis"


def read(path, **options):
    source = Files((Root(str(path.parent)),), {"pattern": f"/{path.name}", **options})
    (entry,) = source.scan().entries
    (artifact,) = source.read(entry).artifacts
    return artifact


def write(path, size=(64, 48), **more):
    Image.new("RGB", size, "green").save(path, **more)
    return path


@pytest.fixture(autouse=True)
def _without_tesseract(monkeypatch, tmp_path):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    end_all()  # a child has the environment it was started with


@pytest.mark.parametrize("suffix", ["bmp", "gif", "jpeg", "jpg", "png", "tif", "tiff", "webp"])
def test_an_image_of_every_format_gives_its_name_and_its_size(tmp_path, suffix):
    artifact = read(write(tmp_path / f"pea-bed.{suffix}"))
    assert artifact.name == f"pea-bed.{suffix}"
    first, second = artifact.raw["text"].splitlines()
    assert first == f"pea-bed.{suffix}"
    assert second.startswith("64 x 48 pixels, ")
    assert (artifact.metadata["width"], artifact.metadata["height"]) == (64, 48)
    assert artifact.body == artifact.raw["text"]


def test_the_texts_of_a_png_are_read_and_data_of_programs_is_not(tmp_path):
    about = PngInfo()
    about.add_text("Description", PEAS)
    about.add_itxt("Titel", "Größe", zip=True)
    about.add_text("XML:com.adobe.xmp", "<x:xmpmeta/>")
    text = read(write(tmp_path / "a.png", pnginfo=about)).raw["text"]
    assert f"Description: {PEAS}" in text
    assert "Titel: Größe" in text
    assert "xmpmeta" not in text


def test_what_a_camera_and_a_person_wrote_into_a_photograph_is_read(tmp_path):
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = PEAS
    exif[ExifTags.Base.Model] = "Box 3"
    exif[ExifTags.Base.XPComment] = "märz".encode("utf-16-le")
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2026:03:14 12:30:00"
    artifact = read(write(tmp_path / "a.jpg", exif=exif, comment="by the shed"))
    for text in (PEAS, "Box 3", "märz", "by the shed"):
        assert text in artifact.raw["text"]
    assert artifact.metadata["date"] == "2026-03-14T12:30:00"


def bomb(path):
    """Write a PNG of a few bytes that claims a billion pixels."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 10_000)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def cut(path):
    data = Image.effect_noise((200, 200), 50)
    data.save(path)
    path.write_bytes(path.read_bytes()[:5_000])


BAD = {
    "a bomb": (bomb, "more than 100,000,000 pixels"),
    "cut short": (cut, "damaged or cut short"),
    "no image": (lambda path: path.write_text(PEAS), "damaged or cut short"),
    "nothing": (lambda path: path.write_bytes(b""), "damaged or cut short"),
}


@pytest.mark.parametrize(("make", "why"), BAD.values(), ids=BAD)
def test_an_image_that_cannot_be_read_is_an_error_that_says_why(tmp_path, make, why):
    make(tmp_path / "bad.png")
    with pytest.raises(SourceError, match=rf"bad\.png: {why}"):
        read(tmp_path / "bad.png")


TESSERACT = """#!/bin/sh
test "$1" = --version && { echo tesseract 5.3.0; exit; }
printf 'SEED SWAP ON SUNDAY' > "$2.txt"
"""


def test_text_in_a_picture_is_read_where_tesseract_is_here(tmp_path, monkeypatch):
    assert "tesseract-ocr" in find_missing_ocr()
    program = tmp_path / "bin" / "tesseract"
    program.write_text(TESSERACT)
    program.chmod(0o700)
    assert find_missing_ocr() == ""
    artifact = read(write(tmp_path / "poster.png"))
    assert artifact.raw["text"].endswith("\nSEED SWAP ON SUNDAY")
    assert artifact.flags == ("ocr",)
    program.write_text("#!/bin/sh\nexit 1\n")
    assert "SEED" not in read(tmp_path / "poster.png").raw["text"]


def test_an_image_is_found_by_its_caption_and_disclosed_as_text(tmp_path):
    garden = tmp_path / "garden"
    garden.mkdir()
    write(garden / "IMG_1.jpg")
    (garden / "IMG_1.json").write_text(json.dumps({"caption": PEAS, "tags": ["march"]}))
    write(garden / "IMG_2.jpg")
    bomb(garden / "bomb.png")
    source = ir.CorpusSource.from_files([str(garden)], name="garden")
    with pytest.warns(UserWarning, match="bomb.png"):
        built = ir.build(source, store=":memory:", embedder="hashing")
    assert [each["path"] for each in built.engine.failures()] == [str(garden / "bomb.png")]
    (hit,) = ir.search(built, "peas trellis", k=1, filter={"asset_type": "image"})
    assert hit.artifact_id == "IMG_1.jpg"
    (payload,) = ir.disclose([hit])
    assert payload.body.endswith(f"{PEAS}\nmarch")
    assert not payload.stale
    built.close()
