#include <limits>
#include <span>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include <lockstep/models/data/byte_pair_tables.h>
#include <lockstep/models/data/byte_pair_vocabulary.h>
#include <lockstep/models/data/text_file.h>
#include <lockstep/models/files/json_text.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/error.h>

// The vocab.json and merges.txt files of GPT-2.

namespace lockstep {
namespace {

using Ids = std::unordered_map<std::string_view, std::int32_t>;

/// The first line of merges.txt, which other programs may leave out.
constexpr std::string_view version = "#version";

/// The tokens of vocab.json, by their ids.
std::vector<std::string> read_tokens(const std::filesystem::path& file) {
  const nlohmann::json vocab = parse_sorted_json(read_text(file), file.string());
  require<InputError>(vocab.is_object(), "{}: is not an object of tokens and their ids", file.string());
  std::vector<const std::string*> places(vocab.size());
  require<InputError>(places.size() <= std::numeric_limits<std::int32_t>::max(), "{}: has too many tokens",
                      file.string());
  for (const auto& [token, id] : vocab.get_ref<const nlohmann::json::object_t&>()) {
    require<InputError>(id.is_number_unsigned() && id.get<std::uint64_t>() < places.size(),
                        "{}: the id of token {:?} must be a whole number from 0 to {}", file.string(), token,
                        places.size() - 1);
    const std::string*& place = places[id.get<std::size_t>()];
    if (place != nullptr)
      fail<InputError>("{}: the tokens {:?} and {:?} have the same id", file.string(), *place, token);
    place = &token;
  }
  std::vector<std::string> tokens;
  for (const std::string* const token : places) tokens.push_back(*token);
  return tokens;
}

Ids ids_of(const std::vector<std::string>& tokens) {
  Ids ids;
  for (const std::string& token : tokens) ids.emplace(token, static_cast<std::int32_t>(ids.size()));
  return ids;
}

void require_bytes(const Ids& ids, const std::filesystem::path& file) {
  for (int value = 0; value < byte_values; ++value) {
    const char byte = static_cast<char>(value);
    const std::string token = characters_of_bytes({&byte, 1});
    require<InputError>(ids.contains(token), "{}: has no token {:?}, for the byte 0x{:02x}", file.string(), token,
                        value);
  }
}

std::int32_t id_in(const Ids& ids, std::string_view token) {
  const auto found = ids.find(token);
  require<InputError>(found != ids.end(), "{:?} is not a token of the vocabulary", token);
  return found->second;
}

std::vector<detail::TokenPair> read_merges(const std::filesystem::path& file, const Ids& ids) {
  std::vector<detail::TokenPair> merges;
  std::unordered_set<detail::TokenPair, detail::HashOfPair> known;
  const std::string text = read_text(file);
  for_each_line(text, file, [&](std::string_view line, std::int64_t number) {
    if (number == 1 && line.starts_with(version)) return;
    const std::size_t space = line.find(' ');
    require<InputError>(space != line.npos && line.find(' ', space + 1) == line.npos,
                        "{:?} is not two tokens and a space between them", line);
    const std::string_view left = line.substr(0, space);
    const std::string_view right = line.substr(space + 1);
    const detail::TokenPair pair{id_in(ids, left), id_in(ids, right)};
    id_in(ids, std::string(left).append(right));
    require<InputError>(known.insert(pair).second, "the merge {:?} is also in an earlier line", line);
    merges.push_back(pair);
  });
  return merges;
}

}  // namespace

BytePairVocabulary BytePairVocabulary::load(const std::filesystem::path& vocab, const std::filesystem::path& merges) {
  std::vector<std::string> tokens = read_tokens(vocab);
  const Ids ids = ids_of(tokens);
  require_bytes(ids, vocab);
  std::vector<detail::TokenPair> pairs = read_merges(merges, ids);
  return BytePairVocabulary(std::make_shared<detail::BytePairTables>(std::move(tokens), std::move(pairs)));
}

void BytePairVocabulary::save(const std::filesystem::path& vocab, const std::filesystem::path& merges) const {
  const std::vector<std::string>& tokens = tables_->tokens();
  std::string json;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    json += fmt::format("{}{}:{}", i == 0 ? '{' : ',', nlohmann::json(tokens[i]).dump(), i);
  json += '}';
  std::string lines = fmt::format("{}: 0.2\n", version);
  for (const auto& [left, right] : tables_->merges())
    lines += fmt::format("{} {}\n", tokens[static_cast<std::size_t>(left)], tokens[static_cast<std::size_t>(right)]);
  write_file_atomically(vocab.string(), std::as_bytes(std::span(json)));
  write_file_atomically(merges.string(), std::as_bytes(std::span(lines)));
}

}  // namespace lockstep
