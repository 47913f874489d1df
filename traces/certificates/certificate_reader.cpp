// Reads certificates. Checks types here; require_well_formed() checks the numbers.

#include "ppsim/base/error.hpp"
#include "ppsim/traces/certificate_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "json/parsed_json.hpp"
#include "schedules/formats.hpp"

namespace ppsim::traces {
namespace {

using ReadJson = nlohmann::ordered_json;

constexpr std::string_view not_a_certificate = "docs/synthesis.md describes certificates";
constexpr std::string_view whole_numbers = "write whole nanoseconds, bytes or counts";
constexpr std::size_t longest_words = 4096; ///< bytes of a name or another text

class CertificateReader {
public:
  CertificateReader(std::string_view text, std::string_view where)
      : where_{where}, file_(parsed_json(text, where, not_a_certificate, whole_numbers)) {
  } // braces would make a list of it

  Certificate read() {
    check_head();
    Certificate certificate;
    if (file_.contains("title")) certificate.title = words(file_["title"], "/title");
    if (file_.contains("command")) certificate.command = words(file_["command"], "/command");
    read_instance(at(file_, "instance", ""), certificate.instance);
    if (const ReadJson& order = at(file_, "order", ""); !order.is_null())
      read_order(order, certificate.order.emplace());
    if (const ReadJson& makespan = at(file_, "makespan", ""); !makespan.is_null())
      certificate.makespan = Duration{integer(makespan, [] { return "/makespan"; })};
    certificate.lower_bound = time(file_, "lower_bound", "");
    if (file_.contains("proof")) read_cases(file_["proof"], certificate.cases);
    problems_.throw_if_any();
    require_well_formed(certificate, where_);
    return certificate;
  }

private:
  template <class Found>
  void fault(const Found& pointer_and_what, std::string_view hint) {
    add_within_limit(problems_, [&] {
      const auto [pointer, what] = pointer_and_what();
      return Problem{pointer.empty() ? std::string{where_} : fmt::format("{}: {}", where_, pointer), what,
                     std::string{hint}};
    });
  }
  void fault(std::string_view pointer, std::string_view what, std::string_view hint) {
    fault([&] { return std::pair{std::string{pointer}, std::string{what}}; }, hint);
  }

  static std::string text_of(const ReadJson& value) {
    return value.is_structured() ? std::string{value.type_name()}
                                 : value.dump(-1, ' ', false, ReadJson::error_handler_t::replace);
  }

  /// Replaces a missing value, which has been reported.
  static const ReadJson& nothing() {
    static const ReadJson none;
    return none;
  }

  /// The value of a key; nothing(), with a fault, if it is missing.
  const ReadJson& at(const ReadJson& object, const char* key, std::string_view pointer) {
    if (object.is_object())
      if (const auto found = object.find(key); found != object.end()) return *found;
    if (object.is_object())
      fault(pointer, fmt::format("the key '{}' is missing", key), not_a_certificate);
    else if (&object != &nothing())
      fault(pointer, fmt::format("it is {}, not an object", object.type_name()), not_a_certificate);
    return nothing();
  }

  /// An empty list, with a fault, if it is not a list.
  const ReadJson& list(const ReadJson& value, std::string_view pointer) {
    static const ReadJson none = ReadJson::array();
    if (value.is_array()) return value;
    if (&value != &nothing()) fault(pointer, fmt::format("it is {}, not a list", value.type_name()), "write a list");
    return none;
  }

  template <class Pointer>
  std::int64_t integer(const ReadJson& value, const Pointer& pointer) {
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
    if (fits) return value.get<std::int64_t>();
    if (&value == &nothing()) return 0;
    fault(
        [&] {
          return std::pair{std::string{pointer()}, fmt::format("{} is not a whole number", in_quotes(text_of(value)))};
        },
        whole_numbers);
    return 0;
  }
  std::int64_t integer(const ReadJson& object, const char* key, std::string_view pointer) {
    return integer(at(object, key, pointer), [&] { return fmt::format("{}/{}", pointer, key); });
  }
  Duration time(const ReadJson& object, const char* key, std::string_view pointer) {
    return Duration{integer(object, key, pointer)};
  }
  /// A count or an index.
  template <class Pointer>
  std::size_t count(const ReadJson& value, const Pointer& pointer) {
    const std::int64_t found = integer(value, pointer);
    if (found >= 0) return static_cast<std::size_t>(found);
    fault([&] { return std::pair{std::string{pointer()}, fmt::format("{} is below 0", found)}; }, "count from 0");
    return 0;
  }
  std::size_t count(const ReadJson& object, const char* key, std::string_view pointer) {
    return count(at(object, key, pointer), [&] { return fmt::format("{}/{}", pointer, key); });
  }

  /// A text for terminals.
  std::string words(const ReadJson& value, std::string_view pointer) {
    const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; };
    if (!value.is_string()) {
      if (&value != &nothing())
        fault(pointer, fmt::format("{} is not a string", in_quotes(text_of(value))), "write a string");
      return {};
    }
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() <= longest_words && std::ranges::none_of(text, is_control)) return text;
    fault(pointer, fmt::format("{} cannot be shown", in_quotes(text)),
          fmt::format("write one line of at most {} bytes, without control characters", longest_words));
    return {};
  }

  void check_head() {
    if (!file_.is_object())
      throw Error{ExitCode::bad_input,
                  {std::string{where_}, fmt::format("it is {}, not an object", file_.type_name()),
                   std::string{not_a_certificate}}};
    const ReadJson& kind = at(file_, "kind", "");
    if (file_.contains("kind") && kind != "ppsim-certificate")
      fault("/kind", fmt::format("it is {}, not \"ppsim-certificate\"", in_quotes(text_of(kind))), not_a_certificate);
    const ReadJson& schema = at(file_, "schema", "");
    if (file_.contains("schema") && schema != 1)
      fault("/schema", fmt::format("it is {}, but this ppsim reads schema 1", in_quotes(text_of(schema))),
            "use the ppsim that wrote it, or a newer one");
    problems_.throw_if_any();
  }

  void read_instance(const ReadJson& json, CertificateInstance& instance) {
    constexpr std::string_view pointer = "/instance";
    instance.microbatches = count(json, "microbatches", pointer);
    const ReadJson& capacity = list(at(json, "capacity", pointer), "/instance/capacity");
    for (std::size_t stage = 0; stage < capacity.size(); ++stage)
      if (capacity[stage].is_null())
        instance.capacity.emplace_back();
      else
        instance.capacity.emplace_back(
            integer(capacity[stage], [&] { return fmt::format("/instance/capacity/{}", stage); }));
    const ReadJson& sequences = list(at(json, "sequences", pointer), "/instance/sequences");
    for (std::size_t i = 0; i < sequences.size(); ++i)
      instance.sequences.push_back(read_sequence(sequences[i], fmt::format("/instance/sequences/{}", i)));
    const ReadJson& arcs = list(at(json, "arcs", pointer), "/instance/arcs");
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const auto [from, to, lag] = read_numbers<3>(arcs[i], fmt::format("/instance/arcs/{}", i));
      instance.arcs.push_back({static_cast<std::size_t>(from), static_cast<std::size_t>(to), Duration{lag}});
    }
  }

  CertificateSequence read_sequence(const ReadJson& json, const std::string& pointer) {
    return {.name = words(at(json, "name", pointer), pointer + "/name"),
            .stage = count(json, "stage", pointer),
            .duration = time(json, "duration", pointer),
            .take = integer(json, "take", pointer),
            .give = integer(json, "give", pointer),
            .tail = time(json, "tail", pointer)};
  }

  /// A list of `size` non-negative numbers.
  template <std::size_t size>
  std::array<std::int64_t, size> read_numbers(const ReadJson& json, const std::string& pointer) {
    std::array<std::int64_t, size> numbers{};
    if (!json.is_array() || json.size() != size) {
      fault(pointer, fmt::format("it is not a list of {} numbers", size), not_a_certificate);
      return numbers;
    }
    for (std::size_t i = 0; i < size; ++i)
      numbers[i] = static_cast<std::int64_t>(count(json[i], [&] { return fmt::format("{}/{}", pointer, i); }));
    return numbers;
  }

  void read_order(const ReadJson& json, std::vector<std::vector<std::size_t>>& order) {
    const ReadJson& rows = list(json, "/order");
    for (std::size_t stage = 0; stage < rows.size(); ++stage) {
      const ReadJson& row = list(rows[stage], fmt::format("/order/{}", stage));
      std::vector<std::size_t>& found = order.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i)
        found.push_back(count(row[i], [&] { return fmt::format("/order/{}/{}", stage, i); }));
    }
  }

  /// Of a case among all microbatches; the others are 0.
  std::array<std::int64_t, 6> read_four(const ReadJson& json, const std::string& pointer) {
    std::array<std::int64_t, 6> numbers{};
    if (json.is_array() && json.size() == 4)
      std::ranges::copy(read_numbers<4>(json, pointer), numbers.begin());
    else
      fault(pointer, "it is not a list of 4 or 6 numbers", not_a_certificate);
    return numbers;
  }

  void read_cases(const ReadJson& proof, std::vector<CertificateCase>& cases) {
    if (proof.is_object() && !proof.contains("cases")) return;
    const ReadJson& found = list(at(proof, "cases", "/proof"), "/proof/cases");
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string pointer = fmt::format("/proof/cases/{}", i);
      const bool is_among = found[i].is_array() && found[i].size() == 6;
      const auto numbers = is_among ? read_numbers<6>(found[i], pointer) : read_four(found[i], pointer);
      const auto id = [&](std::size_t k) { return static_cast<std::size_t>(numbers[k]); };
      cases.push_back({id(0), id(1), id(2), Duration{numbers[3]}, {id(4), id(5)}});
      if (is_among && found[i][5] == 0) fault(pointer + "/5", "0 is out of range", "name 1 microbatch or more");
    }
  }

  std::string_view where_;
  ReadJson file_;
  Problems problems_;
};

} // namespace

Certificate read_certificate(std::string_view text, std::string_view where) {
  return CertificateReader{text, where}.read();
}

} // namespace ppsim::traces
