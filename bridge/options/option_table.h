// The options of one program, or of one of its commands: one table both parses
// them and writes the text of --help.
//
//   OptionTable table("corral kill", "[OPTIONS] EXECUTION", "Sends a signal.");
//   table.Flag(0, "leader", "Only to the first process.", leader);
//   table.Value('s', "signal", "SIGNAL", "By name.", [&](auto value) {...});
//   ASSIGN_OR_RETURN(Arguments arguments, table.Parse(argv));
//
// Options are --name VALUE, --name=VALUE, -n VALUE, -nVALUE and joined flags.

#ifndef BRIDGE_OPTIONS_OPTION_TABLE_H_
#define BRIDGE_OPTIONS_OPTION_TABLE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bridge {

struct Arguments {
  // True if -h or --help was given; the words after it were not parsed.
  bool help = false;
  std::vector<std::string> positionals;
  // A command to run: the words after "--", or the words from the first
  // positional on that the table does not take.
  std::vector<std::string> command;
};

class OptionTable {
 public:
  // Takes the value. The message of an error says what is allowed. What the
  // function refers to must outlive Parse().
  using Setter = std::function<absl::Status(absl::string_view value)>;

  // `program` is the program as the user calls it, with the command.
  OptionTable(std::string program, std::string synopsis, std::string summary);

  // A `short_name` of 0 means that there is only the long one.
  void Flag(char short_name, std::string name, std::string help, bool& target);
  void Value(char short_name, std::string name, std::string placeholder,
             std::string help, Setter set);
  void Text(char short_name, std::string name, std::string placeholder,
            std::string help, std::string& target);

  // Sets how many positionals are allowed. By default none is.
  void TakePositionals(size_t min, size_t max) {
    min_positionals_ = min;
    max_positionals_ = max;
  }
  // The words after this many positionals are a command.
  void TakeCommandAfter(size_t positionals) {
    TakePositionals(positionals, positionals);
    takes_command_ = true;
  }

  // A usage error names the option, the value and what is allowed.
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

  const std::string program_;
  const std::string synopsis_;
  const std::string summary_;
  size_t min_positionals_ = 0;
  size_t max_positionals_ = 0;
  bool takes_command_ = false;
  std::vector<Option> options_;
};

// The user typed something wrong: InvalidArgument, as the server answers it
// too. The exit status for it is 2.
absl::Status UsageError(absl::string_view message);

}  // namespace bridge

#endif  // BRIDGE_OPTIONS_OPTION_TABLE_H_
