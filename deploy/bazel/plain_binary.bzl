"""plain_binary: a cc_binary that is built the same way in every lane."""

def _plain_impl(_settings, _attr):
    # A program without a C library cannot link a sanitizer's runtime.
    return {
        "//command_line_option:compilation_mode": "opt",
        "//command_line_option:copt": ["-Wall", "-Wextra", "-Werror"],
        "//command_line_option:linkopt": [],
    }

_plain = transition(
    implementation = _plain_impl,
    inputs = [],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:linkopt",
    ],
)

def _plain_binary_impl(ctx):
    binary = ctx.executable.binary[0] if type(ctx.executable.binary) == "list" else ctx.executable.binary
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.run_shell(
        inputs = [binary],
        outputs = [out],
        command = "strip -o \"$2\" \"$1\"",
        arguments = [binary.path, out.path],
        mnemonic = "Strip",
    )
    return [DefaultInfo(files = depset([out]), executable = out)]

plain_binary = rule(
    implementation = _plain_binary_impl,
    attrs = {
        "binary": attr.label(executable = True, cfg = _plain, mandatory = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
    executable = True,
)
