#pragma once
// Errors: the one exception type for problems that a user can fix, and the assertion for bugs.

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ppsim {

/// Exit status of the program; part of its interface.
enum class ExitCode : int {
  done = 0,
  failed = 1,       ///< failed at run time (a file could not be written, memory ran out)
  bad_input = 2,    ///< wrong usage or bad input
  no = 3,           ///< the answer is no: deadlock, does not fit
  internal = 70,    ///< a bug in ppsim
  interrupted = 130 ///< a shell's status after SIGINT
};

/// One problem: where, what (with the value found), and the remedy.
struct Problem {
  std::string where;
  std::string what;
  std::string hint;
  bool operator==(const Problem&) const = default;
};

/// Thrown for problems that a user can fix, with all of them. Caught once, in main.
class Error : public std::runtime_error {
public:
  Error(ExitCode code, std::vector<Problem> problems);
  Error(ExitCode code, Problem problem) : Error(code, std::vector<Problem>{std::move(problem)}) {}
  [[nodiscard]] ExitCode code() const { return code_; }
  [[nodiscard]] const std::vector<Problem>& problems() const { return problems_; }

private:
  ExitCode code_;
  std::vector<Problem> problems_;
};

/// Collects the problems of one input, so that all are reported at once. Keeps the first `limit` in full and counts the
/// rest.
class Problems {
public:
  static constexpr std::size_t limit = 20;
  void add(std::string where, std::string what, std::string hint = {});
  [[nodiscard]] bool empty() const { return found_ == 0; }
  [[nodiscard]] std::size_t count() const { return found_; }
  [[nodiscard]] const std::vector<Problem>& list() const { return problems_; }
  /// Throws Error with everything found, if anything.
  void throw_if_any(ExitCode code = ExitCode::bad_input);

private:
  std::vector<Problem> problems_;
  std::size_t found_ = 0;
};

/// A violated invariant: throws std::logic_error with the place. main() turns it into exit status 70.
[[noreturn]] void assertion_failed(const char* condition, std::source_location where = std::source_location::current());

/// The member of `known` nearest to `word` by edit distance; empty if none is near. For "did you mean".
[[nodiscard]] std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& known);
/// "did you mean 'x'?", or `otherwise` if no known word is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known,
                                       std::string_view otherwise);
/// `text` made safe to print in an error: control characters escaped, cut after `limit` bytes.
[[nodiscard]] std::string in_quotes(std::string_view text, std::size_t limit = 60);

} // namespace ppsim

/// Active in every build.
#define PPSIM_ASSERT(condition) (static_cast<bool>(condition) ? void() : ::ppsim::assertion_failed(#condition))
