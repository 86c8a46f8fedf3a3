"""Every known format of a secret in every place where transcripts have them.

The secrets are made of seeded random characters, so that no file spells one.
"""

import base64
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
BASE64 = ALNUM + "+/"
HEX = string.digits + "abcdef"
TOKEN = ALNUM + "_-"
UUID = "{8h}-{4h}-{4h}-{4h}-{12h}"
ALPHABETS = {
    "a": ALNUM, "l": LOWER, "u": UPPER, "2": BASE32, "b": BASE64, "h": HEX, "w": TOKEN,
    "d": string.digits, "L": string.ascii_letters,
}  # fmt: skip


def spelled(shape: str, rng: random.Random) -> str:
    """Return a text of a shape: `{36a}` stands for 36 characters of the alphabet `a`."""
    parts = []
    for part in shape.split("{"):
        if "}" in part:
            hole, _, part = part.partition("}")
            parts += rng.choices(ALPHABETS[hole[-1]], k=int(hole[:-1]))
        parts.append(part)
    return "".join(parts)


# kind -> shapes of its tokens. Prefixes that stand in no text by accident.
UNMISTAKABLE = {
    "GitHub Token": ["gh" + c + "_{36a}" for c in "pousr"] + ["github_pat_{22a}_{59a}"],
    "GitLab Token": [
        "glpat-{20w}a", "glpat-{60a}", "gldt-{20a}", "glft-{20a}", "glsoat-{20a}", "glrt-{20a}",
        "glcbt-{2h}_{20a}", "glptt-{40h}", "glimt-{25l}", "glagent-{50a}", "gloas-{64h}",
        "GR1348941{20a}", "glpat-{27a}.01.{9l}",
    ],
    "AWS Access Key": ["AKIA{16u}", "ASIA{16u}", "ABIA{16u}", "ACCA{16u}", "A3TX{16u}"],
    "AWS Bedrock Key": ["ABSK{109b}a=", "bedrock-api-key-{128b}"],
    "Slack Token": [
        "xoxb-{12d}-{12d}-{24a}", "xoxp-{12d}-{12d}-{12d}-{32h}", "xoxa-{12d}-{12d}-{24l}",
        "xoxs-{12d}-{24l}", "xoxe-1-{40a}", "xoxc-{12d}-{12d}-{64h}", "xoxd-{60a}",
        "xapp-1-{11u}-{12d}-{64h}",
    ],
    "Slack Webhook": ["https://hooks.slack.com/services/T{8u}/B{8u}/{24a}"],
    "Discord Webhook": ["https://discord.com/api/webhooks/{18d}/{68a}"],
    "Stripe Access Key": ["sk_live_{24a}", "rk_live_{99a}"],
    "Stripe Webhook Secret": ["whsec_{32a}"],
    "Square Token": ["sq0csp-{43a}", "sq0atp-{22a}"],
    "SendGrid API Key": ["SG.{22a}.{43a}"],
    "PyPI Token": ["pypi-AgEIcHlwaS5vcmc{80w}a", "pypi-AgENdGVzdC5weXBpLm9yZw{80w}a"],
    "AI Service Key": [
        "sk-ant-api03-{93w}AA", "sk-ant-{40a}", "sk-or-v1-{64h}", "sk-lf-" + UUID, "xai-{80a}",
        "gsk_{52a}", "hf_{34L}", "api_org_{34L}", "nvapi-{64w}a", "pplx-{48a}", "csk-{48l}",
        "llx-{48a}", "tvly-dev-{32a}", "lsv2_pt_{32h}_{10h}", "tgp_v1_{43w}a",
    ],
    "Google Key": ["AIza{35w}", "GOCSPX-{28w}", "ya29.{60w}a", "1//0{2h}{60w}a"],
    "Docker Token": ["dckr_pat_{27w}", "dckr_oat_{32a}"],
    "Atlassian Token": ["ATATT3x{180w}a={8u}", "ATCTT3x{180w}a={8u}", "ATBB{24a}{8u}"],
    "HashiCorp Token": ["hvs.{90w}a", "hvb.{130w}a", "{14a}.atlasv1.{64w}a"],
    "Tailscale Key": ["tskey-api-{11a}CNTRL-{32a}", "tskey-auth-{11a}-{32a}", "tskey-{12a}-{24a}"],
    "Linear Token": ["lin_api_{40a}"],
    "Supabase Token": ["sbp_{40h}", "sb_secret_{31w}"],
    "Notion Token": ["ntn_{11d}{35a}"],
    "1Password Token": ["ops_eyJ{250a}"],
    "Service Token": [
        "npm_{36a}", "dop_v1_{64h}", "doo_v1_{64h}", "shpat_{32h}", "shpss_{32h}", "shpca_{32h}",
        "AGE-SECRET-KEY-1{58u}", "dapi{32h}",
    ],
    "PlanetScale Token": ["pscale_tkn_{43w}a", "pscale_pw_{43w}a", "pscale_oauth_{43a}"],
    "Sentry Token": ["sntrys_eyJ{150a}=_{43b}", "sntryu_{64h}"],
    "Figma Token": ["figd_{40w}a"],
    "Grafana Token": ["glsa_{32a}_{8h}", "glc_{64a}", "eyJrIjoi{80a}"],
    "Doppler Token": ["dp.pt.{43a}", "dp.st.dev.{43a}", "dp.ct.{43a}"],
    "Dynatrace Token": ["dt0c01.{242}.{642}"],
    "New Relic Key": ["NRAK-{27u}"],
    "Postman Key": ["PMAK-{24h}-{34h}"],
    "Pulumi Token": ["pul-{40h}"],
    "Prefect Token": ["pnu_{36a}"],
    "RubyGems Key": ["rubygems_{48h}"],
    "Heroku Key": ["HRKU-AA{58w}"],
    "Netlify Token": ["nfp_{36a}"],
    "Vercel Token": ["vcp_{56a}", "vercel_blob_rw_{16a}_{30a}"],
    "Neon Key": ["napi_{64l}"],
    "CircleCI Token": ["CCIPAT_{22a}_{40h}"],
    "Buildkite Token": ["bkua_{40l}"],
    "PostHog Key": ["phx_{43a}"],
    "Contentful Token": ["CFPAT-{43w}"],
    "HubSpot Token": ["pat-na1-" + UUID],
    "Brevo Key": ["xkeysib-{64h}-{16a}"],
    "EasyPost Key": ["EZAK{54a}"],
    "Duffel Token": ["duffel_live_{43w}"],
    "Shippo Token": ["shippo_live_{40h}"],
    "Readme Token": ["rdme_{70l}"],
    "SonarQube Token": ["squ_{40h}", "sqp_{40h}"],
    "Sourcegraph Token": ["sgp_{40h}", "sgp_{16h}_{40h}"],
    "OpenShift Token": ["sha256~{43w}"],
    "Artifactory Key": ["AKCp{69a}"],
    "Adobe Secret": ["p8e-{32a}"],
    "Apify Token": ["apify_api_{36a}"],
    "E2B Key": ["e2b_{40h}"],
    "Frame.io Token": ["fio-u-{64w}"],
    "Cloudflare Key": ["v1.0-{24h}-{146h}"],
    "Clojars Token": ["CLOJARS_{60l}"],
    "Flutterwave Key": ["FLWSECK_TEST-{32h}-X"],
    "Facebook Token": ["EAAC{160a}"],
    "Plaid Token": ["access-production-" + UUID],
}  # fmt: skip
# Words end like these do: a token begins a word, whatever escape is before it.
OWN_WORD = {
    "AI Service Key": [
        "sk-proj-{20a}T3BlbkFJ{20a}", "sk-svcacct-{60w}a", "sk-admin-{60a}", "sk-or-{40a}",
        "sk-{20a}T3BlbkFJ{20a}", "sk-{32h}", "r8_{37a}", "fc-0{31h}", "jina_{31h}0", "pcsk_0{60a}",
    ],
    "Fly.io Token": ["fm2_{120b}a", "fm1r_{120a}", "fo1_{43w}"],
    "Typeform Token": ["tfp_{59w}"],
    "Render Key": ["rnd_0{31a}"],
    "Resend Key": ["re_0{7a}_{24a}"],
    "Airtable Token": ["pat{14a}.{64h}"],
    "crates.io Token": ["cioa{31a}"],
    "NuGet Key": ["oy2{43l}"],
    "Alibaba Key": ["LTAIa{19a}"],
    "Infracost Key": ["ico-{32a}"],
}  # fmt: skip
# Shapes of whole placements: what is between << and >> is the secret.
SURROUNDED = {
    "AWS Access Key": ["aws_secret_access_key = '<<{39b}a>>'"],
    "Azure Storage Account access key": [
        "AccountName=a;AccountKey=<<{86a}==>>;E=x", "SharedAccessKey=<<{43a}=>>",
    ],
    "Shared Access Signature": ["https://a.blob.core.windows.net/c?sv=1&sig=<<{43a}%3D>>&se=2"],
    "Discord Bot Token": ["discord <<M{23a}.{6a}.{27a}>>"],
    "Mailchimp Access Key": ["<<{32h}-us12>>"],
    "Mailgun Key": ["mailgun <<key-{32h}>>"],
    "NPM tokens": ["//registry.npmjs.org/:_authToken=<<" + UUID + ">>"],
    "Telegram Bot Token": ["<<{9d}:AA{33w}>>"],
    "Twilio API Key": ["twilio <<SK{32h}>>"],
}  # fmt: skip


def _web_token(rng: random.Random) -> str:
    def part(data: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")

    said = {"sub": spelled("{20a}", rng), "iat": 1_700_000_000}
    return ".".join([part({"alg": "HS256", "typ": "JWT"}), part(said), spelled("{43w}", rng)])


def _encoded_key(rng: random.Random) -> str:
    return base64.b64encode(_private_key(rng).encode()).decode()


def _private_key(rng: random.Random) -> str:
    lines = [spelled("{64b}", rng) for _ in range(6)]
    edge = "-----{} RSA PRIVATE KEY-----".format
    return "\n".join([edge("BEGIN"), *lines, edge("END")])


MADE: dict[str, tuple[Callable[[random.Random], str], ...]] = {
    "JSON Web Token": (_web_token,),
    "Private Key": (_private_key, _encoded_key),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A secret, the text around it, and whether a letter may stand right before it."""

    kind: str
    secret: str
    text: str
    glued: bool


def samples() -> list[Sample]:
    """Return one secret of every shape there is, the same each time."""
    rng = random.Random(7)
    made = []
    for table, glued in ((UNMISTAKABLE, True), (OWN_WORD, False)):
        for kind, shapes in table.items():
            for secret in (spelled(shape, rng) for shape in shapes):
                made.append(Sample(kind, secret, secret, glued))
    for kind, shapes in SURROUNDED.items():
        for text in (spelled(shape, rng) for shape in shapes):
            secret = text.partition("<<")[2].partition(">>")[0]
            made.append(Sample(kind, secret, text.replace("<<", "").replace(">>", ""), False))
    for kind, makers in MADE.items():
        for secret in (make(rng) for make in makers):
            made.append(Sample(kind, secret, secret, kind == "Private Key"))
    return made


def _json(levels: int) -> Callable[[str], str]:
    def nested(text: str) -> str:
        for _ in range(levels):
            text = json.dumps({"out": f"x\n{text}\ny"})
        return text

    return nested


def _lines(mark: str) -> Callable[[str], str]:
    return lambda text: "\n".join(mark + line for line in text.split("\n"))


def _numbered(tab: str) -> Callable[[str], str]:
    return lambda text: "\n".join(
        f"{number:6d}{tab}{line}" for number, line in enumerate(["x", *text.split("\n"), "y"], 1)
    )


PLACES: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "in a sentence": lambda text: f"use {text}, please",
    "after a spelt line break": lambda text: "one\\n" + text + "\\ntwo",
    "after a spelt tab": lambda text: "one\\t" + text + "\\ttwo",
    "after a spelt CR LF": lambda text: "one\\r\\n" + text + "\\r\\n",
    "after a twice spelt line break": lambda text: "one\\\\n" + text + "\\\\n",
    "after \\u003d": lambda text: "key\\u003d" + text + "\\u0026x",
    "after \\x3d": lambda text: "key\\x3d" + text + "\\x26",
    "after \\x0a": lambda text: "\\x0a" + text,
    "after an octal escape": lambda text: "\\012" + text,
    "after %3D": lambda text: "key%3D" + text + "%26x",
    "after %0A": lambda text: "%0A" + text + "%0A",
    "after a colour": lambda text: "\x1b[32m" + text + "\x1b[0m",
    "after two colours": lambda text: "\x1b[0m\x1b[1;31m" + text + "\x1b[0m",
    "after \\u001b[31m": lambda text: "\\u001b[31m" + text + "\\u001b[0m",
    "after \\x1b[32m": lambda text: "\\x1b[32m" + text + "\\x1b[0m",
    "after \\033[1m": lambda text: "\\033[1m" + text + "\\033[0m",
    "after \\e[33m": lambda text: "\\e[33m" + text + "\\e[m",
    "in JSON": _json(1),
    "in JSON in JSON": _json(2),
    "in JSON in JSON in JSON": _json(3),
    "in double quotes": lambda text: f'"{text}"',
    "in single quotes": lambda text: f"'{text}'",
    "in escaped quotes": lambda text: '{\\"token\\": \\"' + text + '\\"}',
    "in code of Markdown": lambda text: f"take `{text}` now",
    "in a fence of Markdown": lambda text: f"```sh\n{text}\n```",
    "in a query": lambda text: f"https://h.example/p?a=1&key={text}&b=2",
    "in brackets": lambda text: f"({text})",
    "in an element": lambda text: f"<value>{text}</value>",
    "in a list": lambda text: f"a,{text},b;{text}|",
    "in a line added": _lines("+"),
    "in a line removed": _lines("-"),
    "in a quotation": _lines("> "),
    "behind line numbers": _numbered("\t"),
    "behind line numbers and arrows": _numbered("→"),
    "behind line numbers in JSON": lambda text: json.dumps({"out": _numbered("\t")(text)}),
    "in the environment": lambda text: f"export SOME_VALUE={text}",
    "as an option": lambda text: f"run --value {text} --more",
    "as an option with a sign": lambda text: f"run --value={text}",
    "in a header": lambda text: f"X-Value: {text}",
    "in a header for curl": lambda text: f"curl -H 'X-Value: {text}' https://h.example",
    "in settings": lambda text: f"value: {text}\nmore: 1",
    "after a path": lambda text: f"/a/b/{text}",
    "after an at sign": lambda text: f"x@{text}",
    "at the end of a long text": lambda text: "word " * 400 + text,
}
GLUED: dict[str, Callable[[str], str]] = {
    "after a letter": lambda text: "x" + text,
    "after a digit": lambda text: "7" + text,
    "after an underscore": lambda text: "_" + text,
    "after a hyphen": lambda text: "a-" + text,
    "after a letter that is not ASCII": lambda text: "é" + text,
}


def _coloured(begin: str, end: str) -> Callable[[str, int], str]:
    return lambda text, at: begin + text[:at] + end + text[at:]


def _between(mark: str) -> Callable[[str, int], str]:
    return lambda text, at: text[:at] + mark + text[at:]


def _instead(shape: str) -> Callable[[str, int], str]:
    return lambda text, at: text[:at] + shape.format(ord(text[at])) + text[at + 1 :]


# What programs put into a word, or in the place of one of its characters.
SPLITS: dict[str, Callable[[str, int], str]] = {
    "grep's colours": _coloured("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"),
    "rg's colours": _coloured("\x1b[0m\x1b[1m\x1b[31m", "\x1b[0m"),
    "git's colours": _coloured("\x1b[1;31m", "\x1b[m"),
    "colours in JSON": _coloured("\\u001b[01;31m\\u001b[K", "\\u001b[m\\u001b[K"),
    "colours in JSON in JSON": _coloured("\\\\u001b[31m", "\\\\u001b[0m"),
    "colours as a shell spells them": _coloured("\\033[1;31m", "\\033[0m"),
    "colours as \\e": _coloured("\\e[31m", "\\e[0m"),
    "colours without ESC": _coloured("[01;31m[K", "[m[K"),
    "colours with a square for ESC": _coloured("\u25a0[01;31m\u25a0[K", "\u25a0[m\u25a0[K"),
    "rg's colours without ESC": _coloured("[0m[1m[31m", "[0m"),
    "a hyperlink": _coloured("\x1b]8;;file:///a\x1b\\", "\x1b]8;;\x1b\\"),
    "<em>": _coloured("<em>", "</em>"),
    "<mark class>": _coloured('<mark class="hit">', "</mark>"),
    "<em> in JSON": _coloured("\\u003cem\\u003e", "\\u003c/em\\u003e"),
    "<em> spelt in HTML": _coloured("&lt;em&gt;", "&lt;/em&gt;"),
    "spans": _between('</span><span class="x1">'),
    "<wbr>": _between("<wbr>"),
    "a soft hyphen": _between("\xad"),
    "a soft hyphen of HTML": _between("&shy;"),
    "a space of no width": _between("\u200b"),
    "a joiner": _between("\u2060"),
    "a spelt space of no width": _between("\\u200b"),
    "a space of no width in HTML": _between("&#8203;"),
    "a space of no width in a URL": _between("%E2%80%8B"),
    "%XX": _instead("%{:02X}"),
    "%25XX": _instead("%25{:02x}"),
    "%XX in JSON": _instead("\\u0025{:02X}"),
    "\\uXXXX": _instead("\\u{:04x}"),
    "\\\\uXXXX": _instead("\\\\u{:04X}"),
    "\\u{X}": _instead("\\u{{{:x}}}"),
    "\\UXXXXXXXX": _instead("\\U{:08x}"),
    "\\xXX": _instead("\\x{:02x}"),
    "an octal escape": _instead("\\{:03o}"),
    "an entity": _instead("&#{};"),
    "a hexadecimal entity": _instead("&#x{:X};"),
    "an entity in XML in HTML": _instead("&amp;#{};"),
    "an entity in JSON": _instead("\\u0026#{};"),
    "Markdown": lambda text, at: text.replace("_", "\\_"),
    "Markdown in JSON": lambda text, at: text.replace("_", "\\\\_"),
    "a name of HTML": lambda text, at: text.replace("_", "&lowbar;"),
}


def split_placements() -> list[tuple[Sample, str, str]]:
    """Return every secret with an escape in it: the sample, the kind of escape, and the text."""
    return [
        (sample, name, sample.text.replace(sample.secret, split(sample.secret, at)))
        for sample in samples()
        for name, split in SPLITS.items()
        for at in {4, len(sample.secret) // 2}
    ]


def placements() -> list[tuple[Sample, str, str]]:
    """Return every secret in every place: the sample, the name of the place, and the text."""
    return [
        (sample, place, put(sample.text))
        for sample in samples()
        for place, put in (PLACES | (GLUED if sample.glued else {})).items()
    ]


def is_kept(secret: str, text: str) -> bool:
    """Say whether a text still holds a secret, or so much of one that it matters."""
    lines = [line for line in secret.split("\n") if "-----" not in line] or [secret]
    forms = {form for line in lines for form in (line, quote(line), json.dumps(line)[1:-1])}
    return any(form in text or form[-16:] in text or form[:16] in text for form in forms)


# -- what is assigned ----------------------------------------------------------------------------

VALUES = {
    "letters and digits": "Zx9qLm4tRw",
    "letters": "correcthorsebattery",
    "digits": "2039485716",
    "a dollar": "Su3$kd8fPq",
    "a bracket": "Su3(kd8fPq",
    "a comma": "Su3,kd8fPq",
    "a semicolon": "Su3;kd8fPq",
    "a less": "Su3<kd8fPq",
    "a brace": "Su3{kd8fPq",
    "a hash": "Su3#kd8fPq",
    "an at sign": "Su3@kd8fPq",
    "an exclamation": "Su3!kd8fPq",
    "a percent": "Su3%kd8fPq",
    "an ampersand": "Su3&kd8fPq",
    "a star": "*Su3*kd8fPq",
}
ASSIGNED = {
    "environment": "DB_PASSWORD={}",
    "export": "export API_KEY={}",
    "environment in quotes": 'DB_PASSWORD="{}"',
    "environment in single quotes": "DB_PASSWORD='{}'",
    "YAML": "password: {}",
    "YAML below": "db:\n  password: {}\n  host: h",
    "YAML in a list": "- password: {}\n",
    "YAML in quotes": 'password: "{}"',
    "YAML block": "password: |\n  {}\nhost: h",
    "YAML folded": "password: >-\n    {}\nhost: h",
    "settings": "password = {}",
    "settings of Java": "spring.datasource.password={}",
    "JSON": '{{"password": "{}"}}',
    "JSON of a client": '{{"SecretAccessKey": "{}"}}',
    "JSON in JSON": '{{"out": "{{\\"password\\": \\"{}\\"}}"}}',
    "JSON in JSON in JSON": '{{\\"out\\": \\"{{\\\\\\"password\\\\\\": \\\\\\"{}\\\\\\"}}\\"}}',
    "lines in JSON": '{{"out": "HOST=h\\nDB_PASSWORD={}\\nPORT=1"}}',
    "YAML in JSON": '{{"out": "host: h\\npassword: {}\\nport: 1"}}',
    "YAML block in JSON": '{{"out": "password: |\\n  {}\\nhost: h"}}',
    "Python": 'password = "{}"',
    "Python with a type": 'password: str = "{}"',
    "Python in a mapping": "config['secret'] = '{}'",
    "JavaScript": "const apiKey = '{}';",
    "Go": 'password := "{}"',
    "Ruby": ":password => '{}'",
    "an argument": 'connect(user="u", password="{}")',
    "a comparison": 'if password == "{}":',
    "a comparison from behind": 'if "{}" == password:',
    "a statement": 'set_password "{}";',
    "\\u003d": "password\\u003d{}",
    "a query": "https://h.example/p?password={}&more=1",
    "a form": "user[name]=u&user[password]={}",
    "a connection": "host=h password={} dbname=d",
    "a connection of ODBC": "Server=h;Password={};Database=d",
    "XML": "<password>{}</password>",
    "XML in JSON": "\\u003cpassword\\u003e{}\\u003c/password\\u003e",
    "an option": "login --password {}",
    "an option with a sign": "login --password={}",
    "an option in quotes": 'login --password "{}" --user u',
    "netrc": "machine h login u password {}\n",
    "behind a line number": "     7\tpassword: {}\n",
    "in a line added": "+DB_PASSWORD={}\n",
    "in a quotation": "> password: {}\n",
}
SENT = {
    "Authorization": "Authorization: Bearer {}",
    "Authorization in JSON": '{{"Authorization": "Bearer {}"}}',
    "Authorization in JSON in JSON": '{{\\"Authorization\\": \\"Bearer {}\\"}}',
    "Authorization for curl": "curl -H 'Authorization: Bearer {}' https://h.example",
    "Authorization, basic": "authorization: Basic {}",
    "Authorization, token": 'Authorization: token {}"',
}
# What programs and clusters are given, and what is said.
GIVEN = {
    "mysql": "mysql -u root -p{} shop < dump.sql",
    "mysqldump in quotes": "mysqldump -h h -p'{}' shop",
    "sshpass": "sshpass -p {} ssh u@h",
    "sshpass without a space": "sshpass -p'{}' ssh u@h",
    "redis-cli": "redis-cli -h h -a {} ping",
    "docker login": "docker login -u me -p {} registry.example",
    "mongodump": "mongodump -u a -p {} --db shop",
    "ldapsearch": "ldapsearch -x -D cn=a -w {} -b dc=h",
    "curl's cookie": "curl -b 'session={}; theme=dark' https://h.example",
    "curl's cookies": "curl https://h.example --cookie sid={}",
    "curl's user in quotes": "curl -s -u 'ann:{}' https://h.example",
    "curl's user in the next line": "curl -X POST \\\n  -H 'A: b' \\\n  -u ann:{} https://h.example",
    "curl's proxy": "curl --proxy-user ann:{} https://h.example",
    "pgpass": "db.example:5432:shop:ann:{}",
    "pgpass for all": "*:*:*:ann:{}",
    "a sentence": "The router's password is {}, as before.",
    "a line of notes": "wifi password was: {}",
    "entities": "{{&quot;password&quot;:&quot;{}&quot;}}",
    "colours": '\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"{}"\x1b[0m',
    "Markdown": "API\\_KEY={}",
    "a Secret": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  conf: {}\n",
    "a Secret, sorted": 'apiVersion: v1\ndata:\n  conf: {}\nkind: "Secret"\n---\nkind: Pod\n',
    "a Secret in JSON": '{{"data":{{"conf":"{}"}},"kind":"Secret","metadata":{{}}}}',
    "a Secret without indentation": "kind: Secret\nmetadata:\nname: a\ndata:\nconf: {}\n",
    "a Secret in a comment": "# kind: Secret\n# data:\n#   conf: {}\n",
    "settings in a comment": "# db:\n#   password: {}\n",
    "a Secret's file": "kind: Secret\nstringData:\n  app.yaml: |\n    host: {}\n",
}
GIVEN_VALUES = {"letters and digits": "Zx9qLm4tRwZx9qLm", "digits first": "4tRwZx9qLmZx9q"}
# Around values of any length.
LONG = {
    "the environment": "export AWS_SESSION_TOKEN={}\n",
    "YAML": "token: {}\nmore: 1",
    "JSON": '{{"refresh_token": "{}"}}',
    "JSON in JSON": '{{\\"refresh_token\\": \\"{}\\"}}',
    "a call": 'connect(password="{}")',
    "an option": "login --password {} --more",
    "netrc": "machine h login u password {}\n",
    "a URL": "https://u:{}@h.example/a.git",
    "XML": "<password>{}</password>",
    "a statement": 'set_password "{}";',
    "a comparison": 'if "{}" == password:',
    "a YAML block": "password: |\n  {}\nhost: h",
    "Authorization": "Authorization: Bearer {}",
    "a cookie": "Cookie: sid={}",
    "curl": "curl -u ann:{} https://h.example",
    "sshpass": "sshpass -p {} ssh u@h",
}
SENT_VALUES = {"letters": "qwertzuiopasdfghjkl", "letters and digits": "Zx9qLm4tRwZx9qLm4tRw"}
IN_URLS = {
    "with a user": "postgres://u:{}@db.example/app",
    "without a user": "redis://:{}@h:6379/0",
    "in the environment": "DATABASE_URL=mysql://u:{}@h/app",
    "in JSON": '{{"url": "amqp://u:{}@h:5672"}}',
    "with escaped slashes": '{{"url": "redis:\\/\\/:{}@h"}}',
    "with git": "git clone https://u:{}@git.example/a.git",
    "curl's user": "curl -u u:{} https://h.example",
}
URL_VALUES = {
    name: value for name, value in VALUES.items() if name not in ("a less", "a brace")
} | {"two at signs": "a@b@c9xyz", "a colon": "ab:cd9xyz", "a question mark": "ab?cd9xyz"}


def long_assignments(length: int) -> list[tuple[str, str, str]]:
    """Return values of a length in the places of LONG: the place, the value and the text."""
    rng = random.Random(length)
    values = {way: spelled(f"{{{length}a}}", rng) for way in LONG}
    return [(way, values[way], shape.format(values[way])) for way, shape in LONG.items()]


def assignments() -> list[tuple[str, str, str]]:
    """Return values in every way of assigning and sending: the way, the value and the text."""
    tables = (
        (ASSIGNED, VALUES), (SENT, SENT_VALUES), (IN_URLS, URL_VALUES), (GIVEN, GIVEN_VALUES)
    )  # fmt: skip
    return [
        (way, value, shape.format(value))
        for ways, values in tables
        for way, shape in ways.items()
        for value in values.values()
        if not ("XML" in way and "<" in value)  # which XML spells &lt;
    ]


# -- where a person keeps them -------------------------------------------------------------------

# Name -> what is written; what is between << and >> is the secret. Known by its format.
KEPT_TOKENS = {
    "AWS key id": "aws_access_key_id = <<AKIA{16u}>>",
    "GitHub classic": "git clone https://<<ghp_{36a}>>@github.com/o/r",
    "GitHub fine-grained": "GH_TOKEN=<<github_pat_{22a}_{59a}>>",
    "GitHub app": "remote: token <<ghs_{36a}>>",
    "GitLab": "glab auth login --token <<glpat-{20w}a>>",
    "Slack bot": "the bot uses <<xoxb-{12d}-{12d}-{24a}>>",
    "Slack webhook": "post to <<https://hooks.slack.com/services/T{8u}/B{8u}/{24a}>>",
    "Stripe": "stripe.api_key = '<<sk_live_{99a}>>'",
    "OpenAI project": "OPENAI_API_KEY=<<sk-proj-{74w}aT3BlbkFJ{74w}a>>",
    "Anthropic": "x-api-key: <<sk-ant-api03-{93w}AA>>",
    "Hugging Face": "login(<<hf_{34L}>>)",
    "npm": "//registry.npmjs.org/:_authToken=<<npm_{36a}>>",
    "PyPI": "twine upload -u __token__ with <<pypi-AgEIcHlwaS5vcmc{80w}a>>",
    "Docker": "docker login --username ann, then <<dckr_pat_{27w}>>",
    "Google API": "maps?key=<<AIza{35w}>>",
    "Google client": "client secret <<GOCSPX-{28w}>>",
    "SendGrid": "mail goes out by <<SG.{22a}.{43a}>>",
    "Vault": "vault login <<hvs.{90w}a>>",
    "DigitalOcean": "doctl auth init -t <<dop_v1_{64h}>>",
    "Databricks": "databricks: <<dapi{32h}>>",
    "Telegram": "bot <<{9d}:AA{33w}>>",
    "Azure storage": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=<<{86a}==>>;E=x",
    "Azure signature": "https://a.blob.core.windows.net/c?sv=1&sig=<<{43a}%3D>>&se=2",
    "grep of a token": "a.py: \x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K<<{36a}>>",
    "Markdown of a token": "see github\\_pat\\_{22a}\\_<<{59a}>>",
}
# Known by what is around them.
KEPT_VALUES = {
    "AWS secret": "export AWS_SECRET_ACCESS_KEY=<<{40b}>>",
    "AWS session": "export AWS_SESSION_TOKEN=<<{380a}>>",
    "Azure client": "AZURE_CLIENT_SECRET=<<{3a}8Q~{34w}a>>",
    "PostgreSQL": "DATABASE_URL=postgres://shop:<<{18a}>>@db.internal:5432/shop",
    "MySQL": "mysql+pymysql://shop:<<{18a}>>@db.internal/shop",
    "MongoDB": "mongodb+srv://ann:<<{18a}>>@cluster0.mongodb.example/?w=1",
    "Redis": "redis://:<<{24a}>>@cache.internal:6379/0",
    "AMQP": "broker = amqps://app:<<{24a}>>@mq.internal/v",
    "an .env": "SMTP_PASSWORD='<<{16a}>>'",
    "YAML": "db:\n  user: shop\n  password: <<{14a}>>",
    "ini": "[client]\nuser = shop\npassword = <<{14a}>>",
    "JSON": '{{"clientSecret": "<<{32a}>>", "id": 7}}',
    "XML": "<server><password><<{20a}>></password></server>",
    "Python": 'connect("db", password="<<{16a}>>")',
    "prose": "The wifi password is <<{12a}7>>, as before.",
    "a list": "- password: `<<{12a}>>` for the router",
    "Bearer": "Authorization: Bearer <<{40a}>>",
    "Basic": "curl -H 'Authorization: Basic <<{36a}>>' https://h.example",
    "a cookie": "Cookie: session=<<{32a}>>; theme=dark",
    "curl": "curl -u ann:<<{16a}>> https://h.example",
    "mysql": "mysql -u shop -p<<{16a}>> shop",
    "sshpass": "sshpass -p '<<{16a}>>' ssh ann@h.example",
    "netrc": "machine h.example login ann password <<{16a}>>",
    "pgpass": "db.internal:5432:shop:ann:<<{16a}>>",
    "kube config": "users:\n- name: ann\n  user:\n    token: <<{48a}>>",
    "a Secret": "kind: Secret\nmetadata:\n  name: db\ndata:\n  dsn: <<{47a}=>>",
}


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential as a person keeps it; `has_format` is whether it is known by that alone."""

    name: str
    text: str
    secret: str
    has_format: bool


def credentials(seed: int) -> list[Credential]:
    """Return one credential of each sort that a person keeps; others for another seed."""
    rng = random.Random(seed)
    made = []
    for table, has_format in ((KEPT_TOKENS, True), (KEPT_VALUES, False)):
        for name, shape in table.items():
            text = spelled(shape.replace("{{", "\0").replace("}}", "\1"), rng)
            text = text.replace("\0", "{").replace("\1", "}")
            secret = text.partition("<<")[2].rpartition(">>")[0]
            made.append(Credential(name, text.replace(f"<<{secret}>>", secret), secret, has_format))
    for name, make in (("JWT", _web_token), ("key", _private_key), ("encoded key", _encoded_key)):
        secret = make(rng)
        made.append(Credential(name, f"{name}: {secret}", secret, True))
    return made


def holds(credential: Credential, text: str) -> bool:
    """Say whether a text holds a credential, or the half of it."""
    lines = [line for line in credential.secret.split("\n") if "-----" not in line]
    halves = [half for line in lines for half in (line[: len(line) // 2], line[len(line) // 2 :])]
    lowered = text.lower()
    return any(half.lower() in lowered for half in halves)
