#include <lockstep/models/data/byte_characters.h>
#include <lockstep/models/data/byte_pair_vocabulary.h>

#include "fuzz_target.h"

namespace {

/// The tokens of the bytes, which vocab.json must have, without the closing brace.
std::string vocab_of_bytes() {
  std::string text = "{";
  for (std::int32_t place = 0; place < lockstep::byte_values; ++place) {
    const char byte = static_cast<char>(lockstep::byte_at_place(place));
    text += fmt::format("\"{}{}\":{},", byte == '"' || byte == '\\' ? "\\" : "",
                        lockstep::characters_of_bytes({&byte, 1}), place);
  }
  return text;
}

}  // namespace

/// merges.txt and, after a byte of 0, vocab.json. A plus sign at the beginning of vocab.json stands for the tokens of
/// the bytes.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile merges("merges.txt");
  static const lockstep::fuzz::InputFile vocab("vocab.json");
  static const std::string bytes = vocab_of_bytes();
  const std::string_view text = lockstep::fuzz::text_of(data, size);
  const std::size_t end = std::min(text.find('\0'), text.size());
  merges.write(data, end);
  std::string json(text.substr(std::min(end + 1, text.size())));
  if (json.starts_with('+')) json.replace(0, 1, bytes);
  vocab.write(reinterpret_cast<const std::uint8_t*>(json.data()), json.size());
  lockstep::fuzz::result_or_error([&] {
    const auto vocabulary = lockstep::BytePairVocabulary::load(vocab.path(), merges.path());
    if (vocabulary.decode(vocabulary.encode(text)) != text)
      lockstep::fuzz::complain("bytes are not decoded to themselves", "");
  });
  return 0;
}
