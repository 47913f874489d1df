#include "ppsim/base/error.hpp"

#include "ppsim/base/units.hpp"
#include "ppsim/base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ppsim {
namespace {

std::string summary(const std::vector<Problem>& problems) {
  PPSIM_ASSERT(!problems.empty());
  return problems.front().where + ": " + problems.front().what;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string lower_case(std::string_view text) {
  std::string lower{text};
  for (char& letter : lower)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lower;
}

} // namespace

Error::Error(ExitCode code, std::vector<Problem> problems)
    : std::runtime_error{summary(problems)}, code_{code}, problems_{std::move(problems)} {}

void Problems::add(std::string where, std::string what, std::string hint) {
  if (++found_ <= limit) problems_.push_back({std::move(where), std::move(what), std::move(hint)});
}

void Problems::throw_if_any(ExitCode code) {
  if (empty()) return;
  if (found_ > limit)
    problems_.push_back(
        {problems_.front().where, fmt::format("{} more problems", found_ - limit), "fix the ones above first"});
  throw Error{code, std::move(problems_)};
}

void assertion_failed(const char* condition, std::source_location where) {
  throw std::logic_error{fmt::format("{}:{}: '{}' does not hold", where.file_name(), where.line(), condition)};
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  if (word.size() > 40) return best; // no name is that long, so the distance is irrelevant
  const std::string lower = lower_case(word);
  // Names that begin with the word are nearest, the shortest first.
  using Distance = std::pair<std::size_t, std::size_t>;
  Distance best_distance{std::min<std::size_t>((word.size() + 2) / 3, 4) + 1, 0};
  for (const std::string_view candidate : known) {
    const std::string other = lower_case(candidate);
    const bool completes = word.size() >= 3 && other.starts_with(lower);
    const Distance distance = completes ? Distance{0, other.size()} : Distance{edit_distance(lower, other), 0};
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known,
                         std::string_view otherwise) {
  const std::string_view near = nearest_word(word, known);
  return near.empty() ? std::string{otherwise} : fmt::format("did you mean '{}'? {}", near, otherwise);
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  std::string out = "'";
  for (std::size_t at = 0; at < std::min(text.size(), limit);) {
    const std::string_view rest = text.substr(at);
    const std::size_t length = begins_with_control(rest) ? 0 : character_length(rest);
    if (length == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    else
      out += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  out += '\'';
  if (text.size() > limit) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

} // namespace ppsim
