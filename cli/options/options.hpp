#pragma once
// The option table: the only list of options. Parser, scenario files, --help, man page and completion use it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// Sections of help; commands accept options by section.
enum class Section : std::uint8_t {
  pipeline,
  model,
  costs,
  communication,
  memory,
  scenario,
  workload, ///< the workload and backend of a replay; simulations ignore it
  replay,   ///< number of steps, and use of the results
  comparison,
  synthesis, ///< limits of a search for an order
  planning,  ///< the searched configurations
  output
};
inline constexpr std::size_t section_count = 12;
[[nodiscard]] std::string_view to_string(Section section);

/// In Option::replaces: the options of single schedules (schedule_options()).
inline constexpr std::string_view every_schedule_option = "SCHEDULE-OPTIONS";

/// A problem with a value.
struct Wrong {
  std::string what;
  std::string hint;
};

enum class Argument : std::uint8_t { none, required, optional };

/// How an option's value is read.
struct Setter {
  using Read = std::optional<Wrong> (*)(Inputs&, std::string_view value);
  using Words = std::vector<std::string_view> (*)();
  constexpr Setter(Read how) : read{how} {} // NOLINT(google-explicit-constructor,hicpp-explicit-conversions)
  constexpr Setter(Read how, std::size_t largest) : read{how}, most{largest} {}
  constexpr Setter(Read how, Words known) : read{how}, words{known} {}
  std::optional<Wrong> operator()(Inputs& inputs, std::string_view value) const { return read(inputs, value); }

  Read read;
  std::size_t most = 0;  ///< the largest accepted count; 0: not a count
  Words words = nullptr; ///< the accepted words of a closed set
};

/// One option: a long flag, and (if is_scenario_key()) a key of scenario files.
struct Option {
  std::string_view name;  ///< without dashes
  std::string_view alias; ///< other names, separated by commas, or empty
  Section section;
  Argument argument;
  std::string_view placeholder; ///< "TIME[,...]"
  Setter set;
  std::string_view help;
  /// Comma-separated keys of a scenario file that a flag replaces, or every_schedule_option.
  std::string_view replaces = {};
  [[nodiscard]] std::vector<std::string_view> aliases() const;
  [[nodiscard]] bool has_alias(std::string_view word) const;
};

[[nodiscard]] std::span<const Option> options();
/// Whether it describes the model and the machine, not the use of the results.
[[nodiscard]] bool is_scenario_key(const Option& option);
/// The option with that name or alias (without dashes), or null.
[[nodiscard]] const Option* find_option(std::string_view name);

/// A message with its fields as flags: "give --vpp". Backticks in a user's text stay.
[[nodiscard]] std::string in_flags(std::string_view text);

/// Executes the assignments; adds problems to `problems`.
void assign(const std::vector<Assignment>& assignments, Inputs& inputs, Problems& problems);

} // namespace ppsim::cli
