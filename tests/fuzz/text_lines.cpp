#include <lockstep/models/data/character_vocabulary.h>
#include <lockstep/models/data/text_lines.h>

#include "fuzz_target.h"

/// The first byte selects options: its lowest bit the shuffle, the next one whether lines must be UTF-8.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("lines.txt");
  static const auto vocabulary = lockstep::CharacterVocabulary::adapt({"text"});
  if (size == 0) return 0;
  file.write(data + 1, size - 1);
  const bool utf8 = (data[0] & 2) != 0;
  const auto encode = [utf8](std::string_view line) {
    if (utf8) return vocabulary.encode(line);
    return lockstep::Tensor::full({}, static_cast<double>(line.size()), lockstep::DType::i64);
  };
  lockstep::fuzz::result_or_error([&] {
    const lockstep::Dataset lines = lockstep::text_line_dataset({file.path()}, encode, {.shuffle = (data[0] & 1) != 0});
    std::int64_t count = 0;
    for (const lockstep::Example& line : lines.epoch()) count += line.x().defined() ? 1 : 0;
    if (count != lines.size()) lockstep::fuzz::complain("the number of lines is wrong", file.path().string());
  });
  return 0;
}
