#pragma once
// JSON without end: the elements of a long array, a window of it at a time.
//
// simdjson reads documents of up to 4 GB, needs room after them, and keeps an index of the whole: of a profile of
// several gigabytes that is as much memory again. So pieces are cut at borders of elements, copied and read one by one.
// Where a cut was no border (a list of objects inside an element), the element before it is found to be incomplete,
// and the next window begins with it.

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "imports/text_source.hpp"
#include <simdjson.h>

namespace ppsim::traces {

/// What takes the objects of an array, in two steps: an object is known to be whole only when the next one is found.
class ObjectSink {
public:
  virtual ~ObjectSink() = default;
  /// Looks at an object, and forgets the one before.
  virtual simdjson::error_code look(simdjson::ondemand::object& object) = 0;
  /// The object that was looked at is whole. What it pointed to is still there.
  virtual void take() = 0;
};

/// How much is read at once, and the longest that an element may be.
struct WindowSizes {
  std::size_t usual = std::size_t{1} << 21;
  std::size_t most = std::size_t{1} << 27;
};

/// The first character at or after `at` that is not a white space; the size of `text` where there is none.
[[nodiscard]] std::size_t skip_space(std::string_view text, std::size_t at);
/// After the JSON value that begins at `at`; nothing where it has no end. Looks at brackets and strings only.
[[nodiscard]] std::optional<std::size_t> skip_value(std::string_view text, std::size_t at);

/// As skip_space(); the length of the text where there is none.
[[nodiscard]] std::size_t skip_space(TextSource& text, std::size_t at);
/// The JSON value that begins at `at`, until the next call; nothing where it has no end, or (of a packed text) none
/// within a gigabyte.
[[nodiscard]] std::optional<std::string_view> value_at(TextSource& text, std::size_t at);

/// Gives all objects of the array whose '[' is at `at` to the sink. Returns the position after its ']'. Calls
/// `progress` (which may be empty) with the share of the file now and then. Throws Error (bad_input) with `where` and
/// the byte for what is no JSON or has no end.
std::size_t for_each_object(TextSource& text, std::size_t at, std::string_view where, ObjectSink& sink,
                            const std::function<void(double)>& progress, const WindowSizes& sizes = {});

} // namespace ppsim::traces
