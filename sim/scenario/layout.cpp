#include "ppsim/scenario/layout.hpp"

#include "ppsim/base/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace ppsim {
namespace {

[[noreturn]] void refuse(std::string what, std::string hint) {
  throw Error{ExitCode::bad_input, Problem{"`layout`", std::move(what), std::move(hint)}};
}

/// A repeated letter or bar.
struct Item {
  char letter = 0;
  std::size_t count = 1;
};

/// Chunks, filled letter by letter in model order.
class LayoutBuilder {
public:
  void add(const Item& item) {
    letters_ += item.count; // neither is near its limit: see Reader::repetitions
    if (letters_ > longest_layout)
      refuse(fmt::format("describes more than {} letters", longest_layout), "is a repetition too large?");
    switch (item.letter) {
    case '|':
      if (layout_.size() + item.count > Limits::chunks)
        refuse(fmt::format("describes more than {} chunks", Limits::chunks), "use fewer");
      layout_.resize(layout_.size() + item.count);
      return;
    case 'E':
      if (item.count > 1 || letters_ > 1)
        refuse("'E', the embedding, must be the first letter and the only E", "start with E, and use only one");
      layout_.back().embedding = true;
      return;
    case 't':
      if (mtp_)
        refuse("'t' after 'm': a layer after those for multi-token prediction", "put every t before the first m");
      layout_.back().layers += item.count;
      layers_ = true;
      break;
    case 'm':
      layout_.back().mtp_layers += item.count;
      mtp_ = true;
      break;
    default: // 'L'
      if (loss_ || item.count > 1) refuse("more than one 'L', the loss", "use one L, at the end");
      layout_.back().loss = true;
      loss_ = true;
      return;
    }
    if (loss_) refuse(fmt::format("'{}' after 'L', the loss", item.letter), "end with L");
  }

  Layout finish() {
    if (!layout_.front().embedding) refuse("must start with E, the embedding", "for example 'Ett|tt|tt|ttL'");
    if (!layout_.back().loss) refuse("must end with L, the loss", "for example 'Ett|tt|tt|ttL'");
    if (!layers_) refuse("has no layer", "every layer is a t: 'Ett|tt|tt|ttL'");
    return std::move(layout_);
  }

private:
  Layout layout_{ChunkBlocks{}};
  std::size_t letters_ = 0;
  bool layers_ = false, mtp_ = false, loss_ = false;
};

/// Parses a layout string.
class Reader {
public:
  explicit Reader(std::string_view text) : text_{text} {}

  Layout read() {
    LayoutBuilder builder;
    while (skip_commas(), at_ < text_.size()) {
      if (text_[at_] != '(') {
        builder.add(item());
        continue;
      }
      const std::vector<Item> members = group();
      for (std::size_t times = repetitions().value(); times > 0; --times) // the builder's limits end this early
        for (const Item& member : members) builder.add(member);
    }
    return builder.finish();
  }

private:
  void skip_commas() {
    while (at_ < text_.size() && text_[at_] == ',') ++at_;
  }

  [[nodiscard]] std::string here() const {
    return at_ < text_.size() ? fmt::format("{} at position {}", in_quotes(text_.substr(at_, 1)), at_ + 1) : "the end";
  }

  Item item() {
    const char letter = text_[at_];
    if (std::string_view{"Etm|L"}.find(letter) == std::string_view::npos)
      refuse(
          fmt::format("{} is not understood", here()),
          "E embedding, t layer, m layer for multi-token prediction, L loss, | between chunks; x*n and (...)*n repeat");
    ++at_;
    return {letter, repetitions().value_or(1)};
  }

  /// A group in parentheses; the position is then at its repetition.
  std::vector<Item> group() {
    ++at_;
    std::vector<Item> members;
    while (skip_commas(), at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == '(') refuse(fmt::format("{} is inside other parentheses", here()), "write out one of them");
      members.push_back(item());
    }
    if (at_ == text_.size()) refuse("a parenthesis is not closed", "(...)*n repeats what is inside");
    ++at_;
    if (members.empty()) refuse("nothing in parentheses", "leave them out");
    skip_commas();
    if (at_ == text_.size() || text_[at_] != '*')
      refuse(fmt::format("parentheses without a repetition before {}", here()), "(...)*n repeats what is inside");
    return members;
  }

  /// The n of "*n" at the position, if any; at most slightly above longest_layout.
  std::optional<std::size_t> repetitions() {
    skip_commas();
    if (at_ == text_.size() || text_[at_] != '*') return std::nullopt;
    ++at_;
    skip_commas();
    std::size_t count = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), count);
    if (error == std::errc::result_out_of_range || count > longest_layout)
      refuse(fmt::format("repeats {} times", in_quotes({begin, end}, 12)), fmt::format("at most {}", longest_layout));
    if (error != std::errc{} || count == 0)
      refuse(fmt::format("'*' without a number from 1 up before {}", here()), "x*n and (...)*n repeat");
    at_ += static_cast<std::size_t>(end - begin);
    return count;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// `letter` repeated, in its shorter form.
std::string repeated(char letter, std::size_t count) {
  const std::string short_form = fmt::format("{}*{}", letter, count);
  return count < short_form.size() + 1 ? std::string(count, letter) : short_form;
}

std::string chunk_text(const ChunkBlocks& blocks) {
  return fmt::format("{}{}{}{}", blocks.embedding ? "E" : "", repeated('t', blocks.layers),
                     repeated('m', blocks.mtp_layers), blocks.loss ? "L" : "");
}

} // namespace

Layout parse_layout(std::string_view text) {
  return Reader{text}.read();
}

std::string to_string(const Layout& layout) {
  std::string text;
  for (std::size_t chunk = 0; chunk < layout.size();) {
    std::size_t same = 1;
    while (chunk + same < layout.size() && layout[chunk + same] == layout[chunk]) ++same;
    const std::string once = chunk_text(layout[chunk]);
    chunk += same;
    if (chunk == layout.size()) --same; // no bar after the last
    const std::string repeated_form = once.empty() ? repeated('|', same) : fmt::format("({}|)*{},", once, same);
    if (same > 0 && same * (once.size() + 1) > repeated_form.size())
      text += repeated_form;
    else
      for (std::size_t i = 0; i < same; ++i) text += once + '|';
    if (chunk == layout.size()) text += once;
  }
  if (text.ends_with(',')) text.pop_back();
  return text;
}

std::size_t count_layers(const Layout& layout) {
  std::size_t layers = 0;
  for (const ChunkBlocks& blocks : layout) layers += blocks.layers;
  return layers;
}

} // namespace ppsim
