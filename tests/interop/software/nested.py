"""Programs that make sandboxes themselves, in a sandbox of profile nested."""
import pathlib
import re
import shutil
import subprocess

from place import Skip, need

TREE = pathlib.Path(__file__).resolve().parents[3]
# Small, and yet it compiles C++, links a program and runs it.
TARGET = "//sandbox/seccomp:seccomp"


def copy_tree(place):
    """Copies what git knows of this project."""
    listed = subprocess.run(["git", "-C", TREE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], stdout=subprocess.PIPE,
                            check=False)
    if listed.returncode != 0:
        raise Skip("this tree is not a clone")
    for name in listed.stdout.decode().split("\0"):
        if name and (TREE / name).is_file():
            target = place.directory / "tree" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TREE / name, target)


def tests_in_nested(world):
    def bazel_builds_this_project_in_its_own_sandbox():
        need("bazel", "clang-14", "git", "pkg-config")
        place = world.place()
        copy_tree(place)
        output = place.run(f"""
            cd tree
            bazel --output_user_root=$OLDPWD/out build -c opt --disk_cache= --spawn_strategy=linux-sandbox --verbose_failures {TARGET} 2>&1
            bazel --output_user_root=$OLDPWD/out shutdown""", profile="nested")
        assert re.search(r"\b[1-9]\d* linux-sandbox\b", output), output[-500:]
        filters = place.directory / "tree/bazel-bin/sandbox/seccomp/profile_filter.inc"
        assert "kNestedFilter" in filters.read_text(), filters

    def linux_sandbox_works_in_this_profile_only():
        need("bazel")
        linux_sandbox = "/usr/share/bazel/linux-sandbox"
        if not pathlib.Path(linux_sandbox).exists():
            raise Skip(f"{linux_sandbox} does not exist")
        place = world.place()
        assert place.run(f"{linux_sandbox} -- /bin/echo made", profile="nested") == "made\n"
        status, output = place.attempt(f"{linux_sandbox} -- /bin/echo made")
        assert status != 0 and "made" not in output, f"status {status}: {output}"

    def bubblewrap_makes_a_sandbox():
        need("bwrap")
        output = world.place().run("bwrap --unshare-all --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink "
                                   "usr/lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp sh -c 'echo $$; ls -A /tmp'", profile="nested")
        assert output == "2\n", output

    return [bazel_builds_this_project_in_its_own_sandbox, linux_sandbox_works_in_this_profile_only, bubblewrap_makes_a_sandbox]
