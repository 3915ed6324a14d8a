"""Plants mistakes in a work tree and builds it."""
import pathlib
import re
import subprocess

# Reads the number of the chosen mistake when the program starts, before it enters a sandbox. The first line is one that
# every source gets, so that the lines of errors move by two.
CHOSEN = "/run/corral-mistake"
_HEAD = """#pragma clang diagnostic ignored "-Weverything"
extern "C" long syscall(long, ...) noexcept; inline const int corral_mistake_chosen = [] { char text[16] = {}; \
long file = syscall(2, "%s", 0); if (file < 0) return 0; syscall(0, file, text, 15L); syscall(3, file); int number = 0; \
for (char* c = text; *c >= '0' && *c <= '9'; ++c) number = number * 10 + *c - '0'; return number; }(); \
inline bool corral_mistake(int number) { return corral_mistake_chosen == number; }
""" % CHOSEN

_TESTS = ("//server/...", "//sandbox/...", "//bridge/...", "//tests/supervisor/...", "//tests/integration/...")


def _plant(root, drawn):
    subprocess.run(["git", "-C", root, "checkout", "--quiet", "."], check=True)
    for number, file, _, mistake in drawn:
        path = pathlib.Path(root, file)
        text = path.read_text()
        before = mistake.before.replace("#", str(number), 1)
        path.write_text(_HEAD + text[:mistake.start] + before + text[mistake.start:mistake.end] + mistake.after +
                        text[mistake.end:])


def build(root, drawn):
    """Builds the tests with all mistakes that compile. Returns these."""
    while True:
        _plant(root, drawn)
        command = ["bazel", "build", "-c", "opt", "--keep_going", "--build_tests_only", "--noshow_progress", *_TESTS]
        built = subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               check=False)
        if built.returncode == 0:
            return drawn
        broken = set(re.findall(r"Compiling ([\w/.-]+\.cc) failed", built.stderr))
        left = [each for each in drawn if each[1] not in broken]
        if len(left) == len(drawn):
            raise RuntimeError(built.stderr)
        drawn = left
