"""program: a cc_binary that contains its libraries."""

load("@rules_cc//cc:defs.bzl", "cc_binary")

def program(name, deps, **kwargs):
    """A cc_binary with every library inside, except the C library.

    To load sixty shared libraries takes longer than what most calls of corral
    do. The C library stays outside, since it loads libraries itself to look up
    names. In the lanes of the sanitizers, the libraries are shared as in tests.

    Args:
      name: target name.
      deps: as for cc_binary.
      **kwargs: the other arguments of cc_binary, except linkopts.
    """
    cc_binary(
        name = name,
        linkopts = select({
            "//deploy/bazel:sanitized": [],
            # The linker reads each archive again while one needs another.
            "//conditions:default": [
                "-static-libgcc",
                "-Wl,-Bstatic,--start-group",
            ],
        }),
        # Last, so that its flags follow those of all libraries.
        deps = deps + ["//deploy/bazel:end_of_libraries"],
        **kwargs
    )
