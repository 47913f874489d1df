// Fuzzes the reader of Kineto profiles, as one file and as two ranks. Small windows cover every border. What is read
// satisfies the requirements of assemble(); everything else is a ppsim::Error.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "round_trip.hpp"
#include "traces/imports/kineto/json_windows.hpp"
#include "traces/imports/kineto/kineto.hpp"

namespace {

using namespace ppsim;
using namespace ppsim::traces;

void read(const std::vector<ImportFile>& files) {
  try {
    const Recorded recorded = read_kineto(files, {});
    fuzz::require(!recorded.tasks.empty());
    const auto check = [&](const auto& event) {
      fuzz::require(event.start >= 0 && event.start <= event.end);
      fuzz::require(event.stage < files.size() && event.replica < files.size() && event.step >= 0);
    };
    for (const TaskEvent& event : recorded.tasks) {
      check(event);
      fuzz::require(event.task.chunk_index < most_named_chunks &&
                    index(event.task.microbatch) < most_named_microbatches);
    }
    for (const TransferEvent& event : recorded.transfers) check(event);
    for (const UpdateEvent& event : recorded.updates) check(event);
  } catch (const Error& error) {
    fuzz::require(!error.problems().empty() && error.problems().size() <= Problems::limit + 1);
  }
}

class Counter final : public ObjectSink {
public:
  simdjson::error_code look(simdjson::ondemand::object& object) override {
    for (auto field : object)
      if (const auto error = field.error(); error != simdjson::SUCCESS) return error;
    return simdjson::SUCCESS;
  }
  void take() override { ++count; }
  std::size_t count = 0;
};

/// The number of objects read; none if the text is refused.
std::optional<std::size_t> count_objects(std::string_view text, std::size_t at, std::size_t usual) {
  Counter counter;
  try {
    TextSource source{text};
    (void)for_each_object(source, at, "fuzz", counter, {}, {.usual = usual, .most = std::size_t{1} << 20U});
  } catch (const Error&) {
    return std::nullopt;
  }
  return counter.count;
}

/// JSON that is read as a whole is also read in small windows, with the same elements. (Invalid JSON may be detected
/// earlier or later.)
void read_windows(std::string_view text) {
  const std::size_t at = text.find('[');
  if (at == std::string_view::npos) return;
  const std::optional<std::size_t> end = skip_value(text, at);
  simdjson::dom::parser parser;
  if (!end || parser.parse(text.data() + at, *end - at).error() != simdjson::SUCCESS) return;
  const std::optional<std::size_t> whole = count_objects(text, at, std::size_t{1} << 20U);
  constexpr std::size_t small = 64;
  if (whole) fuzz::require(count_objects(text, at, small) == whole);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size}; // NOLINT(*-reinterpret-cast)
  read({{"rank0.json", text}});
  const std::size_t border = text.find("}{");
  if (border != std::string_view::npos)
    read({{"rank0.json", text.substr(0, border + 1)}, {"rank1.json", text.substr(border + 1)}});
  read_windows(text);
  return 0;
}
