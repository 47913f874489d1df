#pragma once
// An HTML document that runs the scripts that it is given, and no others.

#include <span>
#include <string>
#include <string_view>

namespace ppsim::viz {

/// A script or a style, and what a content security policy knows it by: 'sha256-...' without the quotes.
struct Asset {
  std::string_view text;
  std::string_view hash;
};

// Of the folder page/; made when ppsim is built (cmake/EmbedPage.cmake).
extern const Asset page_script; ///< decodes the data and shows it
extern const Asset page_style;
extern const std::string_view page_body;

/// What a document is made of.
struct Document {
  std::string title; ///< any text
  std::string data;  ///< JSON without a `<`, as the element `data`
  std::span<const Asset> scripts;
  bool compiles = false; ///< whether they may compile WebAssembly
};
[[nodiscard]] std::string html_document(const Document& document);

} // namespace ppsim::viz
