// The options of one command of the command line: parsing them, and the text
// of --help, from one table.
//
//   OptionTable table("run", "[OPTIONS] [--] CMD [ARG...]", "Runs a command.");
//   table.Flag('t', "tty", "Give the command a terminal.", tty);
//   table.Value('s', "signal", "SIGNAL", "Which one.", [&](auto value) {...});
//   ASSIGN_OR_RETURN(Arguments arguments, table.Parse(argv));
//
// Options are --name VALUE, --name=VALUE, -n VALUE, -nVALUE and joined flags.

#ifndef BRIDGE_CLI_OPTION_TABLE_H_
#define BRIDGE_CLI_OPTION_TABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

struct Arguments {
  // -h or --help was there; the rest was not looked at.
  bool help = false;
  std::vector<std::string> positionals;
  // A command to run: what follows "--", or begins with the first positional
  // beyond what the table takes.
  std::vector<std::string> command;
};

class OptionTable {
 public:
  // Given the value; an error's message says what is allowed. It may refer to
  // what it sets, which must outlive Parse().
  using Setter = std::function<absl::Status(absl::string_view value)>;

  OptionTable(std::string command, std::string synopsis, std::string summary);

  // `short_name` 0: none.
  void Flag(char short_name, std::string name, std::string help, bool& target);
  void Value(char short_name, std::string name, std::string placeholder,
             std::string help, Setter set);
  void Text(char short_name, std::string name, std::string placeholder,
            std::string help, std::string& target);

  // How many positionals there must be. Default: none.
  void TakePositionals(size_t min, size_t max) {
    min_positionals_ = min;
    max_positionals_ = max;
  }
  // What follows this many positionals is a command.
  void TakeCommandAfter(size_t positionals) {
    TakePositionals(positionals, positionals);
    takes_command_ = true;
  }

  // A usage error names the option, the value and what is
  // allowed.
  absl::StatusOr<Arguments> Parse(const std::vector<std::string>& words) const;

  std::string Help() const;

 private:
  struct Option {
    char short_name;
    std::string name;
    std::string placeholder;  // empty: a flag
    std::string help;
    Setter set;
  };
  class Parser;
  friend class Parser;

  const Option* FindLong(absl::string_view name) const;
  const Option* FindShort(char name) const;

  const std::string command_;
  const std::string synopsis_;
  const std::string summary_;
  size_t min_positionals_ = 0;
  size_t max_positionals_ = 0;
  bool takes_command_ = false;
  std::vector<Option> options_;
};

// The caller typed something wrong: InvalidArgument, for which the exit status
// is 2, whether it is found here or by the server.
absl::Status UsageError(absl::string_view message);

}  // namespace bridge

#endif  // BRIDGE_CLI_OPTION_TABLE_H_
