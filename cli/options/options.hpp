#pragma once
// The option table: the one place that lists what can be said. Parser, scenario files, --help, man page and completion
// read it.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runs/inputs.hpp"

namespace ppsim::cli {

/// What help lists together; commands take options by section.
enum class Section : std::uint8_t {
  pipeline,
  model,
  costs,
  communication,
  memory,
  scenario,
  workload, ///< what a replay computes, and on what; simulations do not look at it
  replay,   ///< how often, and what is done with it
  comparison,
  synthesis, ///< what a search for an order may do
  planning,  ///< which configurations are looked at
  output
};
inline constexpr std::size_t section_count = 12;
[[nodiscard]] std::string_view to_string(Section section);

/// In Option::replaces: the options of single schedules (schedule_options()).
inline constexpr std::string_view every_schedule_option = "SCHEDULE-OPTIONS";

/// What is wrong with a value.
struct Wrong {
  std::string what;
  std::string hint;
};

enum class Argument : std::uint8_t { none, required, optional };

/// How the value of an option is read.
struct Setter {
  using Read = std::optional<Wrong> (*)(Inputs&, std::string_view value);
  using Words = std::vector<std::string_view> (*)();
  constexpr Setter(Read how) : read{how} {} // NOLINT(google-explicit-constructor,hicpp-explicit-conversions)
  constexpr Setter(Read how, std::size_t largest) : read{how}, most{largest} {}
  constexpr Setter(Read how, Words known) : read{how}, words{known} {}
  std::optional<Wrong> operator()(Inputs& inputs, std::string_view value) const { return read(inputs, value); }

  Read read;
  std::size_t most = 0;  ///< the largest that is taken, of what counts something; 0: it does not count
  Words words = nullptr; ///< those that are taken, of a closed set
};

/// One option: a long flag, and (where is_scenario_key() says so) a key of scenario files.
struct Option {
  std::string_view name;  ///< without dashes
  std::string_view alias; ///< other words, with commas between them, or empty
  Section section;
  Argument argument;
  std::string_view placeholder; ///< "TIME[,...]"
  Setter set;
  std::string_view help;
  /// Comma-separated keys of a scenario file that a flag makes void, or every_schedule_option.
  std::string_view replaces = {};
  [[nodiscard]] std::vector<std::string_view> aliases() const;
  [[nodiscard]] bool has_alias(std::string_view word) const;
};

[[nodiscard]] std::span<const Option> options();
/// Whether it is a part of what is trained on what, and not of what is done with that.
[[nodiscard]] bool is_scenario_key(const Option& option);
/// The option of that name or alias (without dashes), or null.
[[nodiscard]] const Option* find_option(std::string_view name);

/// A message with the fields that it names as flags: "give --vpp". What a user put in backticks stays.
[[nodiscard]] std::string in_flags(std::string_view text);

/// Carries out the assignments; adds what is wrong to `problems`.
void assign(const std::vector<Assignment>& assignments, Inputs& inputs, Problems& problems);

} // namespace ppsim::cli
