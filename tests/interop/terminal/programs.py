#!/usr/bin/env python3
"""vim, less, nano, mc and htop through the tools of corral-mcp. The screens are compared with those that tmux makes of the
same output, and with what a person would see.
"""
import os
import re
import subprocess
import sys
import time

from corral_mcp import PATIENCE, Mcp, Server, await_that, need, run_tests

COLUMNS, ROWS = 80, 24


def tmux(*words):
    return subprocess.run(["tmux", "-L", f"corral-{os.getpid()}", "-f", "/dev/null", *words], check=True, capture_output=True,
                          env=dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm-256color")).stdout.decode()


def shown_by_tmux(output, columns, rows):
    """The screen that tmux makes of the output of a terminal: lines and cursor."""
    path = SERVER.directory / "output"
    path.write_bytes(output)
    tmux("new-session", "-d", "-x", str(columns), "-y", str(rows), "-s", "t", ";", "set", "-g", "status", "off", ";", "respawn-pane",
         "-k", f"stty raw -echo; cat {path}; printf '\\033]2;all shown\\007'; sleep 1000")
    try:
        await_that(lambda: tmux("display", "-p", "-t", "t", "#{pane_title}").strip() == "all shown", "tmux")
        lines = tmux("capture-pane", "-p", "-t", "t").split("\n")[:rows]
        x, y = tmux("display", "-p", "-t", "t", "#{cursor_x} #{cursor_y}").split()
        return [line.rstrip() for line in lines], (int(x), int(y))
    finally:
        tmux("kill-server")


class Session:
    """One terminal with a shell."""

    def __init__(self, columns=COLUMNS, rows=ROWS):
        self.mcp = Mcp(SERVER, "--cols", str(columns), "--rows", str(rows))
        self.size = columns, rows
        self.mcp.type("PS1='$ '; unset PROMPT_COMMAND PS0; export LC_ALL=C.UTF-8; clear\r")
        self.mcp.see(lambda lines: lines[0] == "$", "the prompt")
        self.shell = self.execution()

    def execution(self):
        names = re.findall(r"\S+/\S+", SERVER.corral("ps", "-q").decode())
        return names[-1]

    def output(self):
        return SERVER.corral("logs", self.shell)

    def start(self, line, text):
        """Types a command, and waits until the screen shows `text`."""
        self.mcp.type(line + "\r")
        self.mcp.see(lambda lines: any(text in each for each in lines), text)
        self.mcp.quiet()

    def check(self):
        """The screen equals that of tmux. For a program that is quiet, at the size at which it began."""
        self.mcp.quiet()
        lines, cursor = self.mcp.screen()
        expected, expected_cursor = shown_by_tmux(self.output(), *self.size)
        assert lines == expected, f"corral {lines} tmux {expected}"
        # tmux has the cursor at the last column while a wrap is pending.
        assert (min(cursor[0], self.size[0] - 1), cursor[1]) == expected_cursor, f"{cursor} {expected_cursor}"
        return lines

    def resize(self, columns, rows):
        self.mcp.call("resize", cols=columns, rows=rows)
        self.size = columns, rows
        self.mcp.quiet()

    def see(self, text):
        return self.mcp.see(lambda lines: any(text in each for each in lines), text)

    def see_prompt(self):
        """The shell has the terminal again, and the main screen shows."""
        return self.mcp.see(lambda lines: [line for line in lines if line][-1:] == ["$"], "the prompt")


def in_session(work):
    def test():
        session = Session()
        try:
            return work(session)
        finally:
            session.mcp.end()
    test.__name__ = work.__name__
    return test


def write(name, text):
    (SERVER.workspace / name).write_text(text)


@in_session
def vim_edits_a_file_and_gives_the_screen_back(session):
    need("vim", "tmux")
    write("a.txt", "one\ntwo\nthree é漢字\n")
    session.start("vim -u NONE -N a.txt", "three é漢字")
    lines = session.check()
    assert lines[:4] == ["one", "two", "three é漢字", "~"], lines
    session.mcp.keys("ArrowDown", "End")
    session.mcp.type("a more")
    session.mcp.keys("Escape")
    assert session.check()[1] == "two more"
    session.mcp.type(":set number hlsearch\r/t\r")
    assert session.check()[1].endswith("2 two more")
    session.mcp.keys("Ctrl+V", "ArrowDown")
    session.check()
    session.mcp.keys("Escape")
    session.resize(60, 12)
    lines = session.mcp.screen()[0]
    assert len(lines) == 12 and lines[1].endswith("2 two more"), lines
    session.resize(COLUMNS, ROWS)
    session.mcp.type(":vsplit\r")
    assert "|" in session.mcp.see(lambda lines: "|" in lines[0], "the split")[0]
    session.check()
    session.mcp.type(":qa!\r")
    lines = session.see_prompt()
    assert not any(line.startswith("~") for line in lines), lines


@in_session
def programs_that_ask_their_terminal_get_answers(session):
    write("ask.py", """import os, select, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
for name, question in ("DA1", "[c"), ("DA2", "[>c"), ("DSR", "[5n"), ("CPR", "[6n"), ("DECRQM", "[?2026$p"), ("XTVERSION", "[>q"), ("size", "[18t"), ("background", "]11;?\\a"):
    os.write(1, b"\\x1b" + question.encode())
    answer = os.read(0, 100) if select.select([0], [], [], 20)[0] else b""
    os.write(1, f"{name}={len(answer) > 0}\\r\\n".encode())
extra = select.select([0], [], [], 0.3)[0]
termios.tcsetattr(0, termios.TCSANOW, before)
print("extra:", os.read(0, 100) if extra else "none")
""".replace("\\\\", "\\"))
    session.mcp.type("clear; python3 ask.py\r")
    lines = session.see("extra:")
    assert "extra: none" in lines, lines
    for name in ("DA1", "DA2", "DSR", "CPR", "DECRQM", "XTVERSION", "size", "background"):
        assert f"{name}=True" in lines, lines


@in_session
def mouse_mode_disturbs_nothing(session):
    need("vim")
    write("mouse.txt", "text\n")
    session.start("vim -u NONE -N +'set mouse=a ttymouse=sgr' mouse.txt", "text")
    session.mcp.type("ix")
    session.mcp.keys("Escape")
    assert session.check()[0] == "xtext"
    session.mcp.type(":q!\r")
    session.see_prompt()


@in_session
def less_pages_and_searches(session):
    need("less", "tmux")
    write("long.txt", "".join(f"line {n}\n" for n in range(1, 501)))
    session.start("LESS= less long.txt", "line 23")
    assert session.check()[:2] == ["line 1", "line 2"]
    session.mcp.keys("PageDown")
    session.see("line 46")
    session.mcp.type("/line 4[0-9]9\r")
    assert session.see("line 409")[0] == "line 409"
    session.check()
    session.mcp.keys("ArrowUp", modifiers=[])
    assert session.see("line 408")[0] == "line 408"
    session.mcp.type("G")
    assert session.see("(END)")[-2] == "line 500"
    session.check()
    session.resize(40, 10)
    lines = session.see("line 478")
    assert len(lines) == 10 and lines[-1] == ":", lines
    session.mcp.type("q")
    session.see_prompt()


@in_session
def nano_edits_with_control_and_function_keys(session):
    need("nano", "tmux")
    write("nano.txt", "first\nsecond\n")
    session.start("nano --ignorercfiles nano.txt", "second")
    assert "GNU nano" in session.check()[0]
    session.mcp.keys("Ctrl+K")
    session.mcp.keys("End")
    session.mcp.type(" line")
    assert session.see("second line")[1] == "second line"
    session.check()
    session.mcp.keys("F1")
    session.see("Main nano help text")
    session.check()
    session.mcp.keys("Ctrl+X")
    session.see("second line")
    session.resize(100, 30)
    assert len(session.see("second line")) == 30
    session.mcp.keys("Ctrl+O", "Enter")
    session.see("Wrote 1 line")
    session.mcp.keys("Ctrl+X")
    session.see_prompt()
    assert (SERVER.workspace / "nano.txt").read_text() == "second line\n"


@in_session
def mc_draws_panels_and_takes_function_keys(session):
    need("mc", "tmux")
    (SERVER.workspace / "folder").mkdir(exist_ok=True)
    write("folder/seen.txt", "content of the file\n")
    session.start("mc --nosubshell --skin=default folder folder", "seen.txt")
    lines = session.check()
    assert "1Help" in lines[-1] and "10Quit" in lines[-1], lines
    assert "┌" in lines[1] or "┌" in lines[0], lines
    session.mcp.keys("ArrowDown", modifiers=[])
    session.mcp.keys("F3")
    session.see("content of the file")
    session.check()
    session.mcp.keys("F3")
    session.see("seen.txt")
    session.mcp.keys("F9")
    session.see("File")
    session.check()
    session.mcp.keys("Escape", "Escape")
    session.mcp.quiet(1200)
    session.resize(100, 30)
    assert len(session.see("10Quit")) == 30
    session.mcp.keys("Tab", "F10")
    session.mcp.quiet(500)
    if any("quit" in line.lower() and "?" in line for line in session.mcp.screen()[0]):
        session.mcp.keys("Enter")
    session.see_prompt()


@in_session
def htop_shows_meters_and_follows_keys(session):
    need("htop")
    # It draws anew all the time, so only what does not change is compared.
    session.mcp.type("HTOPRC=/dev/null htop -d 100\r")
    lines = session.see("F10Quit")
    assert any("Mem[" in line for line in lines) and any("PID" in line for line in lines), lines
    session.mcp.keys("F1")
    session.see("GNU GPL")
    session.mcp.keys("Escape")
    session.see("F10Quit")
    session.mcp.keys("F6")
    session.see("Sort by")
    session.mcp.keys("Escape")
    session.see("F10Quit")
    session.mcp.keys("ArrowDown")
    session.resize(100, 30)
    # It draws only what it thinks has changed.
    session.mcp.keys("Ctrl+L")
    assert len(session.see("F10Quit")) == 30
    session.mcp.keys("F10")
    session.see_prompt()


@in_session
def bash_edits_a_line_with_wide_characters(session):
    need("tmux")
    session.mcp.type("echo 漢字é⚡")
    session.mcp.keys("Home")
    session.mcp.type(": ")
    session.mcp.keys("Ctrl+E", "Backspace")
    session.mcp.type("X")
    session.mcp.quiet()
    lines, cursor = session.mcp.screen()
    assert lines[cursor[1]] == "$ : echo 漢字éX", lines
    # Two columns for each of 漢 and 字.
    assert cursor[0] == len("$ : echo ") + 4 + 2, cursor
    session.check()


if __name__ == "__main__":
    SERVER = Server()
    try:
        sys.exit(run_tests("terminal", [
            vim_edits_a_file_and_gives_the_screen_back, programs_that_ask_their_terminal_get_answers, mouse_mode_disturbs_nothing,
            less_pages_and_searches, nano_edits_with_control_and_function_keys, mc_draws_panels_and_takes_function_keys,
            htop_shows_meters_and_follows_keys, bash_edits_a_line_with_wide_characters]))
    finally:
        SERVER.end()
