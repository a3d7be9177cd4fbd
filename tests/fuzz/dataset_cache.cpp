#include <lockstep/runtime/data/cache_file.h>
#include <lockstep/runtime/data/dataset.h>

#include "fuzz_target.h"

/// The file of Dataset::cache. As few changed files have right checksums, the input is also decoded as one element.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep;
  static const fuzz::InputFile file("cache");
  file.write(data, size);
  const auto nothing = [](std::uint64_t) -> DatasetIterator { return [] { return std::optional<Example>(); }; };
  fuzz::result_or_error([&] {
    for (const Example& example : Dataset::from_generator(nothing).cache(file.path()).epoch())
      (void)detail::encode_example(example);
  });
  fuzz::result_or_error([&] {
    const std::string_view text = fuzz::text_of(data, size);
    if (detail::encode_example(detail::decode_example(text)) != text)
      fuzz::complain("an element is not encoded as it was", "");
  });
  return 0;
}
