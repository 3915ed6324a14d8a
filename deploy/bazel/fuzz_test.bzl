"""fuzz_test: a parser of bytes that others control, given many inputs."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")

def fuzz_test(name, src, deps):
    """Defines a test with a fixed number of inputs, and a fuzzer without an end.

    Args:
      name: of the test; the fuzzer is <name>.fuzzer, for --config=fuzz only.
      src: a file that defines LLVMFuzzerTestOneInput.
      deps: of `src`. The seeds are in tests/fuzz/seeds/<name>.
    """
    seeds = "//tests/fuzz:seeds/" + name
    cc_test(
        name = name,
        size = "medium",
        srcs = [src],
        args = ["$(locations %s)" % seeds],
        data = [seeds],
        deps = deps + ["//tests/fuzz:replay"],
    )
    cc_binary(
        name = name + ".fuzzer",
        testonly = True,
        srcs = [src],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
    )
