#include "bridge/gate/gate_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "bridge/gate/shell_line.h"
#include "bridge/options/confinement_options.h"
#include "bridge/options/duration_field.h"
#include "bridge/options/limit_fields.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "sandbox/base/status_macros.h"

namespace bridge {
namespace {

using corral::config::v1::GateDecision;
using corral::config::v1::GateRule;
using corral::v1::Sandbox;

// Keeps the first error of the parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int /*column*/, const std::string& message) override {
    if (text_.empty()) {
      text_ = absl::StrCat("line ", line + 1, ": ", message);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool Matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

// The texts of a command with which a rule is compared.
struct Forms {
  std::vector<std::string> programs;
  std::vector<std::string> lines;
};

Forms FormsOf(const GatedCommand& command, GateDecision decision) {
  Forms forms;
  forms.lines.push_back(absl::StrJoin(command.argv, " "));
  const std::optional<std::string> line = ShellLine(command.argv);
  if (!line.has_value()) {
    forms.programs.push_back(command.argv.front());
    return forms;
  }
  forms.lines.push_back(*line);
  const absl::string_view rest = WithoutChangeTo(command.directory, *line);
  forms.lines.push_back(static_cast<std::string>(rest));
  if (const auto words = PlainWords(rest); words.has_value()) {
    forms.programs.push_back(words->front());
    forms.lines.push_back(absl::StrJoin(*words, " "));
    return forms;
  }
  forms.programs.push_back(command.argv.front());
  if (decision != corral::config::v1::ALLOW) {
    for (std::string& program : PossiblePrograms(*line)) {
      forms.programs.push_back(std::move(program));
    }
  }
  return forms;
}

bool MatchesName(const std::string& pattern, const std::string& program) {
  return Matches(pattern, program) ||
         Matches(pattern, program.substr(program.rfind('/') + 1));
}

bool MatchesAny(const std::string& pattern,
                const std::vector<std::string>& texts,
                bool (*matches)(const std::string&, const std::string&)) {
  return pattern.empty() ||
         std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
           return matches(pattern, text);
         });
}

// Returns true if the agent sets a variable that can make the name of a program
// run another one.
bool ChangesPrograms(const GatedCommand& command) {
  return std::any_of(command.environment.begin(), command.environment.end(),
                     [](const auto& variable) {
                       return variable.first == "PATH" ||
                              absl::StartsWith(variable.first, "LD_");
                     });
}

bool MatchesRule(const GateRule& rule, const GatedCommand& command) {
  const bool allows = rule.decision() == corral::config::v1::ALLOW;
  if (allows && rule.environment().empty() && ChangesPrograms(command) &&
      !(rule.program().empty() && rule.command_line().empty())) {
    return false;
  }
  const bool elsewhere =
      command.directory.empty()
          ? allows && !rule.working_directory().empty()
          : !MatchesAny(rule.working_directory(), {command.directory}, Matches);
  const Forms forms = FormsOf(command, rule.decision());
  std::vector<std::string> variables;
  for (const auto& [name, value] : command.environment) {
    variables.push_back(absl::StrCat(name, "=", value));
  }
  return MatchesAny(rule.program(), forms.programs,
                    allows ? Matches : MatchesName) &&
         MatchesAny(rule.command_line(), forms.lines, Matches) &&
         MatchesAny(rule.environment(), variables, Matches) && !elsewhere &&
         MatchesAny(rule.session(), {command.session_id}, Matches);
}

absl::StatusOr<absl::Duration> ToTimeout(const std::string& text) {
  if (text.empty()) {
    return absl::InfiniteDuration();
  }
  return ParseDuration(text, kTimeoutRange);
}

absl::Status Named(absl::string_view field, absl::string_view value,
                   const absl::Status& status) {
  return status.ok() ? status
                     : absl::InvalidArgumentError(absl::StrCat(
                           field, " \"", value, "\": ", status.message()));
}

absl::Status SetNetwork(const GateRule& rule, Sandbox& sandbox) {
  if (rule.network().empty() && rule.allow_host().empty()) {
    return absl::OkStatus();
  }
  ConfinementOptions options;
  for (const std::string& host : rule.allow_host()) {
    RETURN_IF_ERROR(Named("allow_host", host, options.AddHost(host)));
  }
  if (!rule.network().empty()) {
    RETURN_IF_ERROR(
        Named("network", rule.network(), options.SetNetwork(rule.network())));
  }
  if (rule.network() == "none" && !rule.allow_host().empty()) {
    return absl::InvalidArgumentError("network \"none\" excludes allow_host");
  }
  const Sandbox::Profile profile = sandbox.profile();
  RETURN_IF_ERROR(options.ApplyTo(sandbox));
  sandbox.set_profile(profile);
  return absl::OkStatus();
}

// Returns the differences of the rule's own sandbox, nothing if it has none.
absl::StatusOr<std::optional<Sandbox>> ToSandbox(const GateRule& rule) {
  Sandbox sandbox;
  if (!rule.memory().empty()) {
    RETURN_IF_ERROR(Named("memory", rule.memory(),
                          SetMemory(rule.memory(), *sandbox.mutable_limits())));
  }
  if (rule.pids() != 0) {
    const std::string pids = absl::StrCat(rule.pids());
    RETURN_IF_ERROR(
        Named("pids", pids, SetPids(pids, *sandbox.mutable_limits())));
  }
  if (!rule.cpus().empty()) {
    RETURN_IF_ERROR(Named("cpus", rule.cpus(),
                          SetCpus(rule.cpus(), *sandbox.mutable_limits())));
  }
  if (!rule.profile().empty()) {
    RETURN_IF_ERROR(
        Named("profile", rule.profile(), SetProfile(rule.profile(), sandbox)));
  }
  RETURN_IF_ERROR(SetNetwork(rule, sandbox));
  return sandbox.ByteSizeLong() == 0 ? std::nullopt
                                     : std::optional<Sandbox>(sandbox);
}

absl::Status CheckRule(const GateRule& rule) {
  if (rule.decision() == corral::config::v1::GATE_DECISION_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "decision is missing; allowed is ALLOW, ASK or DENY");
  }
  for (const auto& [field, value] :
       {std::pair{"timeout", &rule.timeout()},
        std::pair{"cpu_timeout", &rule.cpu_timeout()}}) {
    if (const auto timeout = ToTimeout(*value); !timeout.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          field, " \"", *value, "\": ", timeout.status().message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GateRules> GateRules::Load(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", file));
  }
  ASSIGN_OR_RETURN(GateRules rules, Parse(file, text.str()));
  rules.file_ = file;
  return rules;
}

absl::StatusOr<GateRules> GateRules::Parse(const std::string& file,
                                           const std::string& text) {
  GateRules rules;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, &rules.config_)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", error.text()));
  }
  for (const GateRule& rule : rules.config_.rule()) {
    absl::Status checked = CheckRule(rule);
    const absl::StatusOr<std::optional<Sandbox>> sandbox = ToSandbox(rule);
    checked.Update(sandbox.status());
    if (!checked.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": rule ", rules.sandboxes_.size() + 1, ": ",
                       checked.message()));
    }
    rules.sandboxes_.push_back(*sandbox);
  }
  return rules;
}

Ruling GateRules::Rule(const GatedCommand& command) const {
  Ruling ruling;
  ruling.by = "otherwise";
  if (config_.otherwise() != corral::config::v1::GATE_DECISION_UNSPECIFIED) {
    ruling.decision = config_.otherwise();
  }
  for (int i = 0; i < config_.rule_size(); ++i) {
    const GateRule& rule = config_.rule(i);
    if (MatchesRule(rule, command)) {
      ruling.decision = rule.decision();
      ruling.by = absl::StrCat("rule ", i + 1);
      ruling.reason = rule.reason();
      ruling.timeout = *ToTimeout(rule.timeout());
      ruling.cpu_timeout = *ToTimeout(rule.cpu_timeout());
      ruling.sandbox = sandboxes_[i];
      break;
    }
  }
  return ruling;
}

int GateRules::FirstWithLimits() const {
  for (int i = 0; i < config_.rule_size(); ++i) {
    if (!config_.rule(i).timeout().empty() ||
        !config_.rule(i).cpu_timeout().empty() || sandboxes_[i].has_value()) {
      return i + 1;
    }
  }
  return 0;
}

}  // namespace bridge
