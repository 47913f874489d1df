// Writes certificates and their verdicts.

#include "ppsim/traces/certificate_file.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace ppsim::traces {
namespace {

using WrittenJson = nlohmann::ordered_json;

/// A line of text.
std::string in_a_row(const WrittenJson& json) {
  return json.dump(-1, ' ', false, WrittenJson::error_handler_t::replace);
}

WrittenJson sequence_json(const CertificateSequence& sequence) {
  return {{"name", sequence.name}, {"stage", sequence.stage}, {"duration", sequence.duration.count()},
          {"take", sequence.take}, {"give", sequence.give},   {"tail", sequence.tail.count()}};
}

template <class Value>
WrittenJson or_null(const std::optional<Value>& value) {
  return value ? WrittenJson(*value) : WrittenJson(nullptr);
}

/// A list with one element per line, each indented.
template <class Elements, class Make>
std::string rows_of(const Elements& elements, std::size_t indent, Make make) {
  if (elements.empty()) return "[]";
  std::string text = "[";
  for (const auto& element : elements)
    text += fmt::format("{}\n{:{}}{}", text.size() == 1 ? "" : ",", "", indent + 2, in_a_row(make(element)));
  return text + fmt::format("\n{:{}}]", "", indent);
}

} // namespace

std::string write_certificate(const Certificate& certificate) {
  const CertificateInstance& instance = certificate.instance;
  std::string text = "{\n  \"schema\": 1,\n  \"kind\": \"ppsim-certificate\",\n";
  if (!certificate.title.empty()) text += fmt::format("  \"title\": {},\n", in_a_row(certificate.title));
  if (!certificate.command.empty()) text += fmt::format("  \"command\": {},\n", in_a_row(certificate.command));
  WrittenJson capacity = WrittenJson::array();
  for (const auto& most : instance.capacity) capacity.push_back(or_null(most));
  text += fmt::format("  \"instance\": {{\n    \"microbatches\": {},\n    \"capacity\": {},\n", instance.microbatches,
                      in_a_row(capacity));
  text += fmt::format("    \"sequences\": {},\n", rows_of(instance.sequences, 4, sequence_json));
  text += fmt::format("    \"arcs\": {}\n  }},\n", rows_of(instance.arcs, 4, [](const CertificateArc& arc) {
                        return WrittenJson::array({arc.from, arc.to, arc.lag.count()});
                      }));
  const auto row = [](const std::vector<std::size_t>& sequences) { return WrittenJson(sequences); };
  text += fmt::format("  \"order\": {},\n", certificate.order ? rows_of(*certificate.order, 2, row) : "null");
  text += fmt::format("  \"makespan\": {},\n",
                      certificate.makespan ? fmt::format("{}", certificate.makespan->count()) : "null");
  text += fmt::format("  \"lower_bound\": {},\n", certificate.lower_bound.count());
  text += fmt::format("  \"proof\": {{\n    \"cases\": {}\n  }}\n}}\n",
                      rows_of(certificate.cases, 4, [](const CertificateCase& found) {
                        WrittenJson numbers{found.view, found.sequence, found.index, found.start.count()};
                        for (const std::size_t among : {found.among.first, found.among.count})
                          if (found.among.count > 0) numbers.push_back(among);
                        return numbers;
                      }));
  return text;
}

std::string certificate_verdict_json(const Certificate& certificate, const CertificateVerdict& verdict) {
  WrittenJson order = nullptr;
  if (verdict.order)
    order = {{"holds", verdict.order->holds()},
             {"complete", verdict.order->complete},
             {"runs", verdict.order->runs},
             {"fits", verdict.order->fits},
             {"as_said", verdict.order->as_said},
             {"makespan_ns", verdict.order->runs ? WrittenJson(verdict.order->makespan.count()) : WrittenJson(nullptr)},
             {"faults", verdict.order->faults}};
  const BoundVerdict& bound = verdict.bound;
  const WrittenJson json{
      {"schema", 1},
      {"holds", verdict.holds()},
      {"stages", certificate.instance.capacity.size()},
      {"sequences", certificate.instance.sequences.size()},
      {"microbatches", certificate.instance.microbatches},
      {"makespan_ns", certificate.makespan ? WrittenJson(certificate.makespan->count()) : WrittenJson(nullptr)},
      {"lower_bound_ns", certificate.lower_bound.count()},
      {"optimal", verdict.holds() && certificate.makespan == certificate.lower_bound},
      {"order", std::move(order)},
      {"bound",
       {{"proven", bound.proven},
        {"cases", certificate.cases.size()},
        {"cases_shown", bound.cases_shown},
        {"passes", bound.passes},
        {"steps", bound.steps},
        {"contradiction", bound.contradiction.empty() ? WrittenJson(nullptr) : WrittenJson(bound.contradiction)},
        {"faults", bound.faults}}}};
  return json.dump(2, ' ', false, WrittenJson::error_handler_t::replace) + "\n";
}

} // namespace ppsim::traces
