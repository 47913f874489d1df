#pragma once
// JSON of any length: the elements of a long array, one window at a time.
//
// simdjson reads documents of up to 4 GB, needs padding after them, and keeps an index of the whole document: for a
// profile of several gigabytes, as much memory again. So pieces are cut at borders of elements, copied and read one by
// one. If a cut was not a border (a list of objects inside an element), the element before it is found to be
// incomplete, and the next window begins with it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "imports/text_source.hpp"
#include <simdjson.h>

namespace ppsim::traces {

/// Receives the objects of an array in two steps: an object is known to be complete only when the next one is found.
class ObjectSink {
public:
  virtual ~ObjectSink() = default;
  /// Examines an object, and discards the one before.
  virtual simdjson::error_code look(simdjson::ondemand::object& object) = 0;
  /// The examined object is complete. Its memory is still valid.
  virtual void take() = 0;
};

/// The size of windows, and the longest allowed element.
struct WindowSizes {
  std::size_t usual = std::size_t{1} << 21;
  std::size_t most = std::size_t{1} << 27;
};

/// The first character at or after `at` that is not white space; the size of `text` if there is none.
[[nodiscard]] std::size_t skip_space(std::string_view text, std::size_t at);
/// The position after the JSON value that begins at `at`; none if it has no end. Parses only brackets and strings.
[[nodiscard]] std::optional<std::size_t> skip_value(std::string_view text, std::size_t at);

/// As skip_space(); the length of the text if there is none.
[[nodiscard]] std::size_t skip_space(TextSource& text, std::size_t at);
/// The JSON value that begins at `at`, valid until the next call; none if it has no end, or (in a packed text) none
/// within 1 GiB.
[[nodiscard]] std::optional<std::string_view> value_at(TextSource& text, std::size_t at);

/// Passes all objects of the array whose '[' is at `at` to the sink. Returns the position after its ']'. Calls
/// `progress` (which may be empty) with the share of the file from time to time. Throws Error (bad_input) with `where`
/// and the byte if the JSON is invalid or has no end.
std::size_t for_each_object(TextSource& text, std::size_t at, std::string_view where, ObjectSink& sink,
                            const std::function<void(double)>& progress, const WindowSizes& sizes = {});

} // namespace ppsim::traces
