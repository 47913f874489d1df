#include "text_source.hpp"

#include "ppsim/base/error.hpp"

#include <algorithm>

namespace ppsim::traces {

TextSource::TextSource(const ImportFile& file, std::uint64_t limit) : plain_{file.bytes} {
  if (is_gzip(file.bytes)) packed_.emplace(file.bytes, file.name, limit);
}

double TextSource::share() const {
  if (packed_) return packed_->share();
  return plain_.empty() ? 1 : static_cast<double>(read_) / static_cast<double>(plain_.size());
}

std::string_view TextSource::unpacked_from(std::size_t at, std::size_t least) {
  PPSIM_ASSERT(at >= begin_);
  const std::size_t passed = std::min(at - begin_, part_.size());
  if (passed >= part_.size() - passed) { // moved when that is cheap
    part_.erase(0, passed);
    begin_ += passed;
  }
  while (begin_ + part_.size() < at + least && packed_->append_to(part_)) {
  }
  return std::string_view{part_}.substr(std::min(at - begin_, part_.size()));
}

} // namespace ppsim::traces
