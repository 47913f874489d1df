#include "model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "options/setters.hpp"
#include "toml_file.hpp"

namespace ppsim::cli {
namespace {

/// A key of a file about a Thing, with its reader.
template <class Thing>
struct Key {
  std::string_view name;
  bool required;
  Result (*set)(Thing&, const toml::node&);
};

Result read_text(const toml::node& node, std::string& text) {
  const auto value = node.value_exact<std::string>();
  if (!value) return Wrong{"is not a string", "write it in quotes"};
  text = *value;
  return check_text(text);
}

template <auto member, class Thing>
Result set_text(Thing& thing, const toml::node& node) {
  return read_text(node, thing.*member);
}

/// A number; check_model() checks its range, except for the sign.
template <auto member>
Result set_count(Model& model, const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value) return Wrong{"is not a whole number", "write it without quotes: 4096"};
  if (*value < 0) return Wrong{fmt::format("must not be negative, got {}", *value), "give a whole number from 0 up"};
  model.*member = *value;
  return std::nullopt;
}

template <auto member>
Result set_flag(Model& model, const toml::node& node) {
  const auto value = node.value_exact<bool>();
  if (!value) return Wrong{"is neither true nor false", "write true or false, without quotes"};
  model.*member = *value;
  return std::nullopt;
}

/// A member with two values, by name.
template <auto member, auto first, auto second>
Result set_choice(Model& model, const toml::node& node) {
  std::string word;
  if (auto wrong = read_text(node, word)) return wrong;
  for (const auto choice : {first, second})
    if (word == to_string(choice)) {
      model.*member = choice;
      return std::nullopt;
    }
  return Wrong{fmt::format("unknown value {}", in_quotes(word)),
               did_you_mean(word, {to_string(first), to_string(second)},
                            fmt::format("one of {}, {}", to_string(first), to_string(second)))};
}

/// A member with a unit, with its parser.
template <auto member, auto parse>
Result set_unit(DeviceSheet& device, const toml::node& node) {
  std::string text;
  const bool is_rate = std::is_same_v<decltype(device.*member), std::int64_t&>;
  const char* const example =
      is_rate ? R"(a rate such as "989TFLOPS")" : R"(a size such as "80GB" or a bandwidth such as "3.35TB/s")";
  if (auto wrong = read_text(node, text)) return Wrong{std::move(wrong->what), example};
  const auto value = parse(text);
  if (!value) return Wrong{fmt::format("{} cannot be read", in_quotes(text)), example};
  device.*member = *value;
  return std::nullopt;
}

/// A share of a datasheet value.
template <auto member>
Result set_share(DeviceSheet& device, const toml::node& node) {
  const double share = node.value<double>().value_or(0);
  if (!std::isfinite(share) || share < 0.001 || share > 1)
    return Wrong{"is not a share", "give a share of the datasheet's figure from 0.001 to 1, without quotes: 0.8"};
  device.reached.*member = std::llround(share * static_cast<double>(whole_share));
  return std::nullopt;
}

template <auto member>
Result set_time(DeviceSheet& device, const toml::node& node) {
  const char* const example = R"(a time such as "20us")";
  std::string text;
  if (auto wrong = read_text(node, text)) return Wrong{std::move(wrong->what), example};
  const auto time = parse_duration(text);
  if (!time) return Wrong{fmt::format("{} cannot be read", in_quotes(text)), example};
  device.reached.*member = *time;
  return std::nullopt;
}

Result set_link(DeviceSheet& device, const toml::node& node) {
  if (auto wrong = read_text(node, device.link)) return wrong;
  return caught([&] { static_cast<void>(find_link(device.link)); });
}

using M = Model;
constexpr std::array model_keys{
    Key<M>{"name", false, set_text<&M::name, M>},
    Key<M>{"source", false, set_text<&M::source, M>},
    Key<M>{"layers", true, set_count<&M::layers>},
    Key<M>{"hidden", true, set_count<&M::hidden>},
    Key<M>{"ffn-hidden", true, set_count<&M::ffn_hidden>},
    Key<M>{"heads", true, set_count<&M::heads>},
    Key<M>{"kv-heads", false, set_count<&M::kv_heads>},
    Key<M>{"head-dim", false, set_count<&M::head_dim>},
    Key<M>{"vocab", true, set_count<&M::vocab>},
    Key<M>{"sequence-length", true, set_count<&M::sequence_length>},
    Key<M>{"gated", false, set_flag<&M::gated>},
    Key<M>{"tied-embedding", false, set_flag<&M::tied_embedding>},
    Key<M>{"learned-positions", false, set_count<&M::learned_positions>},
    Key<M>{"bias", false, set_flag<&M::bias>},
    Key<M>{"dropout", false, set_flag<&M::dropout>},
    Key<M>{"norm", false, set_choice<&M::norm, Norm::layernorm, Norm::rmsnorm>},
    Key<M>{"attention", false, set_choice<&M::attention, Attention::unfused, Attention::flash>},
    Key<M>{"experts", false, set_count<&M::experts>},
    Key<M>{"experts-per-token", false, set_count<&M::experts_per_token>},
    Key<M>{"expert-groups", false, set_count<&M::expert_groups>},
    Key<M>{"expert-groups-per-token", false, set_count<&M::expert_groups_per_token>},
    Key<M>{"shared-experts", false, set_count<&M::shared_experts>},
    Key<M>{"expert-ffn-hidden", false, set_count<&M::expert_ffn_hidden>},
    Key<M>{"dense-layers", false, set_count<&M::dense_layers>},
    Key<M>{"q-lora-rank", false, set_count<&M::q_lora_rank>},
    Key<M>{"kv-lora-rank", false, set_count<&M::kv_lora_rank>},
    Key<M>{"qk-nope-head-dim", false, set_count<&M::qk_nope_head_dim>},
    Key<M>{"qk-rope-head-dim", false, set_count<&M::qk_rope_head_dim>},
    Key<M>{"v-head-dim", false, set_count<&M::v_head_dim>},
    Key<M>{"mtp-layers", false, set_count<&M::mtp_layers>},
};

using D = DeviceSheet;
constexpr std::array device_keys{
    Key<D>{"name", false, set_text<&D::name, D>},
    Key<D>{"source", false, set_text<&D::source, D>},
    Key<D>{"bf16", true, set_unit<&D::flops_16_bit, parse_flops>},
    Key<D>{"fp8", false, set_unit<&D::flops_fp8, parse_flops>},
    Key<D>{"tf32", false, set_unit<&D::flops_tf32, parse_flops>},
    Key<D>{"fp32", false, set_unit<&D::flops_fp32, parse_flops>},
    Key<D>{"memory", true, set_unit<&D::memory, parse_bytes>},
    Key<D>{"reserved-memory", false, set_unit<&D::reserved, parse_bytes>},
    Key<D>{"memory-bandwidth", true, set_unit<&D::memory_bandwidth, parse_bandwidth>},
    Key<D>{"link", true, set_link},
    Key<D>{"reached-products", false, set_share<&Reached::products>},
    Key<D>{"reached-fp8-products", false, set_share<&Reached::fp8_products>},
    Key<D>{"reached-attention", false, set_share<&Reached::attention>},
    Key<D>{"reached-scores", false, set_share<&Reached::scores>},
    Key<D>{"reached-memory", false, set_share<&Reached::memory>},
    Key<D>{"launch", false, set_time<&Reached::launch>},
    Key<D>{"backward-launch", false, set_time<&Reached::grad_launch>},
    Key<D>{"pass", false, set_time<&Reached::pass>},
};

template <class Thing, std::size_t size>
std::string hint_for(std::string_view key, const std::array<Key<Thing>, size>& keys) {
  std::vector<std::string_view> names;
  names.reserve(size);
  for (const Key<Thing>& some : keys) names.push_back(some.name);
  const std::string_view near = nearest_word(key, names);
  return near.empty() ? "keys: docs/costs.md" : fmt::format("did you mean '{}'?", near);
}

template <class Thing, std::size_t size>
bool is_known(std::string_view key, const std::array<Key<Thing>, size>& keys) {
  return std::ranges::find(keys, key, &Key<Thing>::name) != keys.end();
}

/// Whether more than half of the keys belong only to the other kind of file: then one problem replaces many.
template <class Thing, std::size_t size, class Other, std::size_t other_size>
bool is_other_kind(const toml::table& table, const std::array<Key<Thing>, size>& keys,
                   const std::array<Key<Other>, other_size>& others) {
  const auto foreign = std::count_if(table.begin(), table.end(), [&](const auto& entry) {
    const std::string_view key = entry.first.str();
    return !is_known(key, keys) && is_known(key, others);
  });
  return static_cast<std::size_t>(foreign) * 2 > table.size();
}

/// Sets the file's values; a Thing without a name gets the file's.
template <class Thing, std::size_t size>
void read_keys(const toml::table& table, const std::array<Key<Thing>, size>& keys, std::string_view name, Thing& thing,
               Problems& problems) {
  thing.name = std::filesystem::path{name}.stem().string();
  for (const auto& [key, node] : in_file_order(table)) {
    const std::string where = place(name, key->source());
    const auto known = std::ranges::find(keys, key->str(), &Key<Thing>::name);
    if (known == keys.end()) {
      problems.add(where, fmt::format("unknown key {}", in_quotes(key->str())), hint_for(key->str(), keys));
    } else if (auto wrong = known->set(thing, *node))
      problems.add(fmt::format("{}: {}", where, known->name), std::move(wrong->what), std::move(wrong->hint));
  }
  for (const Key<Thing>& key : keys)
    if (key.required && !table.contains(key.name))
      problems.add(std::string{name}, fmt::format("{} is missing", key.name),
                   fmt::format("add a line '{} = ...'", key.name));
}

} // namespace

Model read_model(std::string_view text, std::string_view name, Problems& problems) {
  Model model;
  const std::size_t before = problems.count();
  const toml::table table = parse_toml(text, name, "one key per line: layers = 32");
  if (is_other_kind(table, model_keys, device_keys)) {
    problems.add(std::string{name}, "is a device file", "give it as --device");
    return model;
  }
  read_keys(table, model_keys, name, model, problems);
  if (problems.count() > before) return model;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_dim == 0 && model.heads > 0) {
    if (model.hidden % model.heads != 0)
      problems.add(std::string{name}, fmt::format("hidden {} is not a multiple of {} heads", model.hidden, model.heads),
                   "give head-dim, or other heads");
    model.head_dim = std::max<std::int64_t>(model.hidden / model.heads, 1);
  }
  check_model(model, name, problems);
  return model;
}

DeviceSheet read_device(std::string_view text, std::string_view name, Problems& problems) {
  DeviceSheet device;
  const toml::table table = parse_toml(text, name, R"(one key per line: bf16 = "989TFLOPS")");
  if (is_other_kind(table, device_keys, model_keys))
    problems.add(std::string{name}, "is a model file", "give it as --model");
  else
    read_keys(table, device_keys, name, device, problems);
  return device;
}

} // namespace ppsim::cli
