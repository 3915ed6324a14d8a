"""What the servers hold: packages of npm, a wheel, and a git repository."""
import base64
import hashlib
import io
import json
import os
import random
import subprocess
import tarfile
import zipfile

# npm installs `answer`, which needs these.
PARTS = [f"part{number}" for number in range(12)]
NPM_VERSION = "1.0.0"
WHEEL = "corral_answer-1.0-py3-none-any.whl"
# Bytes that do not shrink, the same in every run.
NOISE = random.Random(1).randbytes(3 << 20)


def npm_tarball(name):
    manifest = {"name": name, "version": NPM_VERSION, "main": "index.js"}
    if name == "answer":
        manifest["dependencies"] = {part: NPM_VERSION for part in PARTS}
    files = {"package.json": json.dumps(manifest).encode(), "index.js": f"module.exports = '{name}';\n".encode()}
    if name == "answer":
        files["noise"] = NOISE
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for file, data in files.items():
            info = tarfile.TarInfo(f"package/{file}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return manifest, packed.getvalue()


def npm_document(manifest, tarball, url):
    """The registry's answer about a package whose tarball is at `url`."""
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    version = dict(manifest, dist={"tarball": url, "integrity": integrity})
    return json.dumps({"name": manifest["name"], "dist-tags": {"latest": NPM_VERSION}, "versions": {NPM_VERSION: version}}).encode()


def wheel():
    packed = io.BytesIO()
    info = "corral_answer-1.0.dist-info"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("corral_answer.py", "ANSWER = 42\n")
        archive.writestr("noise", NOISE)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: corral-answer\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in archive.namelist()))
    return packed.getvalue()


def simple_index(url, data):
    """The page of a simple index about the wheel, which is at `url`."""
    digest = hashlib.sha256(data).hexdigest()
    return f'<!DOCTYPE html><html><body><a href="{url}#sha256={digest}">{WHEEL}</a></body></html>'.encode()


def git(*words, **options):
    environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    for role in ("AUTHOR", "COMMITTER"):
        environment.update({f"GIT_{role}_NAME": "test", f"GIT_{role}_EMAIL": "test@test"})
    return subprocess.run(["git", *words], env=environment, check=True, capture_output=True, **options).stdout.decode().strip()


def git_repository(directory):
    """Makes a bare repository that may be pushed to, and returns its commit."""
    source = directory / "source"
    git("init", "-q", "-b", "main", source)
    (source / "noise").write_bytes(NOISE)
    git("-C", source, "add", "noise")
    git("-C", source, "commit", "-q", "-m", "first")
    git("clone", "-q", "--bare", source, directory / "answer.git")
    git("-C", directory / "answer.git", "config", "http.receivepack", "true")
    return git("-C", source, "rev-parse", "HEAD")
