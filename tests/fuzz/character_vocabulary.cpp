#include <lockstep/models/data/character_vocabulary.h>
#include <lockstep/models/data/text_lines.h>

#include "fuzz_target.h"

/// A vocabulary's file, which is also read as lines of text that are encoded by it.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const lockstep::fuzz::InputFile file("characters.txt");
  file.write(data, size);
  lockstep::fuzz::result_or_error([&] {
    const auto vocabulary = lockstep::CharacterVocabulary::load(file.path());
    const auto encode = [&](std::string_view line) { return vocabulary.encode(line); };
    for (const lockstep::Example& line : lockstep::text_line_dataset({file.path()}, encode).epoch())
      (void)vocabulary.decode(line.x());
  });
  return 0;
}
