// Decompression of gzip data within limits.

#include "ppsim/base/error.hpp"
#include "support/gzip.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>

#include "traces/imports/gunzip.hpp"

namespace ppsim::test::gunzip_test {

using namespace ppsim::traces;
using test::pack;

namespace {

/// What reading `file` gives; "no error" where it is read.
std::string problem_of(const ImportFormat& format, const ImportFile& file) {
  try {
    (void)format.read({&file, 1}, {});
  } catch (const Error& error) {
    return error.problems().front().what;
  }
  return "no error";
}

} // namespace

TEST_CASE("gzip of several members, with a wrong size or padding after them, is one text") {
  const std::string long_text(1'000'000, 'x');
  CHECK(gunzip(pack(long_text), "f") == long_text);
  CHECK(gunzip(pack(long_text) + pack("end"), "f") == long_text + "end");
  CHECK(gunzip(pack("padded") + std::string(512, '\0'), "f") == "padded");
  CHECK(gunzip(pack(""), "f").empty());
  CHECK_THROWS_AS(gunzip(pack(long_text).substr(0, 200), "f"), Error);
}

TEST_CASE("The size in the trailer of a gzip file allocates no memory") {
  const std::string packed = pack("text") + std::string(100'000, '\0') + "\xFF\xFF\xFF\x7F";
  CHECK(gunzip(packed, "f") == "text");
  CHECK(gunzip(packed, "f").capacity() <= 17 * packed.size());
}

TEST_CASE("gzip that unpacks to more than its limit is refused") {
  const std::string packed = pack(std::string(300'000, '\0'));
  CHECK(gunzip(packed, "f", 300'000).size() == 300'000);
  CHECK_THROWS_WITH(gunzip(packed, "f", 299'999), Catch::Contains("it decompresses to more than 299999 bytes"));
}

TEST_CASE("A file is read as it is or unpacked") {
  const std::string packed = pack("text");
  CHECK(PlainFile({"f", "text"}, 10).bytes() == "text");
  CHECK(PlainFile({"f", packed}, 10).bytes() == "text");
  CHECK(PlainFile({"f", pack("")}, 10).bytes().empty());
  CHECK_THROWS_AS(PlainFile({"f", packed}, 3), Error);
}

TEST_CASE("The format of a file is guessed from its beginning, whether packed or truncated") {
  const auto guess = [](const std::string& bytes) {
    const ImportFormat* const format = guess_import_format(bytes);
    return format == nullptr ? std::string_view{"none"} : format->name;
  };
  const std::string profile = "{\n  \"schemaVersion\": 1," + std::string(300'000, ' ');
  CHECK(guess(profile) == "kineto");
  CHECK(guess(pack(profile)) == "kineto");
  CHECK(guess(pack(profile).substr(0, 60)) == "kineto");
  CHECK(guess("SQLite format 3") == "nsys");
  CHECK(guess("stage,step,optype\n") == "op-trace");
  CHECK(guess("(min, max) time across ranks (ms):\n") == "megatron-timers");
  CHECK(guess("forward = \"1ms\"") == "none");
  CHECK(guess("\x1F\x8B") == "none");
  CHECK(guess("") == "none");
}

TEST_CASE("Logs and results of tests unpack to no more than 64 MiB") {
  const std::string packed = pack(std::string((std::size_t{1} << 26U) + 1, ' '));
  for (const char* name : {"megatron-timers", "nccl-tests", "simai"})
    CHECK(problem_of(*find_import_format(name), {"f", packed}) == "it decompresses to more than 67108864 bytes");
}

TEST_CASE("Packed data unpacks unchanged, and equal bytes make equal files") {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919LL) + ","; // more than a window, packed too
  for (const std::string& bytes : {std::string{}, std::string(1, '\0'), text}) {
    const std::string packed = gzip(bytes);
    CHECK(is_gzip(packed));
    CHECK(gunzip(packed, "x.gz") == bytes);
    CHECK(gzip(bytes) == packed);
  }
  CHECK(gzip(text).size() < text.size() / 2);
}

} // namespace ppsim::test::gunzip_test
