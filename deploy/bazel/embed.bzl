"""embed: makes a cc_library with the bytes of a file."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def embed(name, src, symbol, visibility = None):
    """Defines `absl::string_view sandbox::<symbol>()` in "<package>/<name>.h".

    Args:
      name: target name.
      src: the file.
      symbol: function name.
      visibility: as for cc_library.
    """
    guard = (native.package_name() + "/" + name + "_H_").replace("/", "_").upper()
    native.genrule(
        name = name + ".header",
        outs = [name + ".h"],
        cmd = "printf '%%s\\n' '#ifndef %s' '#define %s' '#include \"absl/strings/string_view.h\"' 'namespace sandbox {' 'absl::string_view %s();' '}' '#endif' > $@" % (guard, guard, symbol),
    )

    # The linker reads an object at once; compiling the bytes as an array would take long.
    native.genrule(
        name = name + ".object",
        srcs = [src],
        outs = [name + "_bytes.o"],
        cmd = " && ".join([
            "out=$$PWD/$@",
            "cp -L $< $(RULEDIR)/%s.bin" % name,
            "cd $(RULEDIR)",
            "ld -r -b binary -z noexecstack -o $$out %s.bin" % name,
            "rm %s.bin" % name,
        ]),
    )
    native.genrule(
        name = name + ".source",
        outs = [name + ".cc"],
        cmd = "printf '%%s\\n' '#include \"%s/%s.h\"' 'extern const char _binary_%s_bin_start[];' 'extern const char _binary_%s_bin_end[];' 'absl::string_view sandbox::%s() {' '  return {_binary_%s_bin_start, static_cast<size_t>(_binary_%s_bin_end - _binary_%s_bin_start)};' '}' > $@" % (native.package_name(), name, name, name, symbol, name, name, name),
    )
    cc_library(
        name = name,
        srcs = [
            name + ".cc",
            name + "_bytes.o",
        ],
        hdrs = [name + ".h"],
        linkstatic = True,
        visibility = visibility,
        deps = ["@com_google_absl//absl/strings"],
    )
