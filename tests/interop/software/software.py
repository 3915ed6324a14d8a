"""Programs that developers use, each at real work in a sandbox: of profile default, and of nested for what makes sandboxes."""
import re
import sys

from nested import tests_in_nested
from place import Skip, World, need
from samples import ASAN_LEAK, ASAN_USE, CMAKE, GDB, GO, GO_TEST, JAVA, NODE, PYTHON, THREADS, TSAN, WAITS
from corral_mcp import run_tests


def compilers(world):
    def gcc_compiles_a_program_with_threads():
        need("g++")
        place = world.place()
        place.write(main_cc=THREADS)
        assert place.run("g++ -O1 -pthread -o main main.cc\n./main") == "4950\n"

    def make_runs_many_compilers_at_once():
        need("make", "gcc")
        place = world.place()
        numbers = range(1, 21)
        for number in numbers:
            place.file(f"f{number}.c", f"int f{number}(void) {{ return {number}; }}\n")
        declarations = "".join(f"int f{number}(void);\n" for number in numbers)
        calls = " + ".join(f"f{number}()" for number in numbers)
        place.write(main_c=f'#include <stdio.h>\n{declarations}int main(void) {{ printf("%d\\n", {calls}); return 0; }}\n')
        place.write(Makefile="program: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^\n")
        assert place.run("make -s -j4\n./program") == "210\n"

    def cmake_configures_builds_and_tests_a_project():
        need("cmake", "make", "gcc", "g++")
        place = world.place()
        for name, text in CMAKE.items():
            place.file(name, text)
        output = place.run("cmake -S . -B build\ncmake --build build -j2\nctest --test-dir build --output-on-failure")
        assert "100% tests passed" in output, output[-500:]

    def go_runs_and_tests_a_module():
        need("go")
        place = world.place()
        place.write(go_mod="module sample\n\ngo 1.19\n", main_go=GO)
        place.file("main_test.go", GO_TEST)
        output = place.run("export GOPROXY=off GOFLAGS=-mod=mod\ngo run .\ngo test ./...")
        assert re.fullmatch(r"served 285\nok\s+sample\s.*\n", output), output

    def java_compiles_and_runs_a_program_with_threads_and_sockets():
        need("javac", "java")
        place = world.place()
        place.file("Main.java", JAVA)
        assert place.run("javac -d classes Main.java\njava -cp classes Main") == "served 499500\n"

    return [gcc_compiles_a_program_with_threads, make_runs_many_compilers_at_once, cmake_configures_builds_and_tests_a_project,
            go_runs_and_tests_a_module, java_compiles_and_runs_a_program_with_threads_and_sockets]


def scripts(world):
    def python3_uses_processes_sockets_databases_and_shared_memory():
        place = world.place()
        place.write(main_py=PYTHON)
        assert place.run("/usr/bin/python3 main.py") == "285 served rows 45 shared\n"

    def node_serves_itself_and_runs_threads():
        need("node")
        place = world.place()
        place.write(main_mjs=NODE)
        assert place.run("node main.mjs") == "served 42\n"

    def npm_installs_a_package_from_a_directory_and_runs_a_script():
        need("node", "npm")
        place = world.place()
        place.file("answer/package.json", '{"name": "answer", "version": "1.2.3", "main": "index.js"}')
        place.file("answer/index.js", "module.exports = 42;\n")
        place.file("app/package.json", '{"name": "app", "private": true, "scripts": {"start": "node index.js"}}')
        place.file("app/index.js", "console.log(require('answer'));\n")
        output = place.run("export npm_config_offline=true npm_config_update_notifier=false\nnpm pack --silent ./answer\n"
                           "cd app\nnpm install --silent --no-audit --no-fund ../answer-1.2.3.tgz\nnpm run --silent start")
        assert output.endswith("\n42\n") and (place.directory / "app/node_modules/answer/index.js").exists(), output

    return [python3_uses_processes_sockets_databases_and_shared_memory, node_serves_itself_and_runs_threads,
            npm_installs_a_package_from_a_directory_and_runs_a_script]


def repositories(world):
    def git_commits_merges_clones_and_cleans_up():
        need("git")
        place = world.place()
        output = place.run("""
            export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@test GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@test
            git init -q -b main origin
            cd origin
            for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm $i; done
            git checkout -qb side HEAD~1
            echo side >f3; git add .; git commit -qm side
            git checkout -q main
            if git merge -q side; then echo no conflict; fi
            echo both >f3; git commit -qam merged
            git worktree add -q ../tree side
            git gc -q
            git fsck --strict 2>&1
            cd ..
            git clone -q origin copy
            git clone -q --bare origin bare.git
            git -C copy push -q ../bare.git HEAD:refs/heads/pushed
            git -C bare.git rev-list --count pushed
            cat copy/f3 tree/f3""")
        assert output.endswith("\n5\nboth\nside\n"), output

    def git_shares_a_repository_with_a_group():
        need("git")
        place = world.place()
        place.run("git init -q --shared=group shared.git\ncp -a shared.git copy.git\ntar -cf - shared.git | (mkdir x; tar -xpf - -C x)")
        for name in ("shared.git", "copy.git", "x/shared.git"):
            for below in (".git", ".git/objects", ".git/refs/heads"):
                mode = (place.directory / name / below).stat().st_mode & 0o7777
                assert mode & 0o2070 == 0o2070, f"{name}/{below}: {mode:o}"

    return [git_commits_merges_clones_and_cleans_up, git_shares_a_repository_with_a_group]


def debuggers(world):
    def gdb_stops_at_a_breakpoint_and_shows_values():
        need("gdb", "gcc")
        place = world.place()
        place.write(main_c=GDB)
        output = place.run("gcc -g -O0 -o main main.c\ngdb -q -batch -ex 'break square if x == 3' -ex run -ex 'print x' -ex bt -ex finish "
                           "-ex continue ./main")
        for expected in (r"\$1 = 3\n", r"#1 .* in main ", r"Value returned is \$2 = 9\n", r"\n14\n", r"exited normally"):
            assert re.search(expected, output), f"no {expected}: {output[-500:]}"

    def gdb_attaches_to_a_process_that_runs():
        need("gdb", "gcc")
        place = world.place()
        place.write(main_c=WAITS)
        output = place.run("gcc -g -O0 -o main main.c\n./main >ready &\nuntil grep -q ready ready; do sleep 0.02; done\n"
                           "gdb -q -batch -p $! -ex 'print answer' -ex 'set var answer = 0' -ex detach\nwait")
        assert "$1 = 42\n" in output, output

    def strace_follows_children():
        need("strace")
        place = world.place()
        assert place.run("strace -f -o trace sh -c 'echo hello | cat'") == "hello\n"
        trace = (place.directory / "trace").read_text()
        assert re.search(r'^\d+ +execve\("[^"]*/cat", \["cat"\]', trace, re.MULTILINE), trace[-500:]
        assert re.search(r'^\d+ +write\(1, "hello\\n", 6\) += 6$', trace, re.MULTILINE), trace[-500:]

    def asan_finds_a_use_after_free_and_a_leak():
        need("gcc")
        place = world.place()
        place.write(use_c=ASAN_USE, leak_c=ASAN_LEAK, fine_c=GDB)
        place.run("for name in use leak fine; do gcc -g -fsanitize=address -o $name $name.c; done")
        assert place.run("./fine") == "14\n"
        for name, finding in (("use", "heap-use-after-free"), ("leak", "LeakSanitizer: detected memory leaks")):
            status, output = place.attempt(f"./{name}")
            assert status == 1 and finding in output, f"{name}: status {status}: {output[-500:]}"

    def tsan_finds_a_race():
        need("gcc")
        place = world.place()
        place.write(race_c=TSAN)
        place.run("gcc -g -fsanitize=thread -o race race.c")
        status, output = place.attempt("./race")
        if "unexpected memory mapping" in output:
            raise Skip("this kernel's addresses are too random for this TSan (vm.mmap_rnd_bits)")
        assert status == 66 and "WARNING: ThreadSanitizer: data race" in output, f"status {status}: {output[-500:]}"

    return [gdb_stops_at_a_breakpoint_and_shows_values, gdb_attaches_to_a_process_that_runs, strace_follows_children,
            asan_finds_a_use_after_free_and_a_leak, tsan_finds_a_race]


def browsers(world):
    def chromium_runs_a_page_without_its_own_sandbox():
        need("chromium")
        place = world.place()
        page = "data:text/html,<body><script>document.body.append(6*7)</script>"
        output = place.run(f"chromium --headless --no-sandbox --disable-gpu --dump-dom '{page}' 2>errors || {{ tail -n 5 errors; exit 1; }}")
        assert "</script>42</body>" in output, output[-500:]

    return [chromium_runs_a_page_without_its_own_sandbox]


def main():
    world = World()
    try:
        groups = (repositories, compilers, scripts, debuggers, browsers, tests_in_nested)
        return run_tests("software", [test for group in groups for test in group(world)])
    finally:
        world.end()


if __name__ == "__main__":
    sys.exit(main())
