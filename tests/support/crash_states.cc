#include "tests/support/crash_states.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/narrow.h"

namespace nvmdb::test {
namespace {

constexpr std::uint64_t kEnumerateMax = 256;
constexpr std::uint64_t kSingleLinesMax = 64;
constexpr std::uint64_t kStatesPerPointMin = 6;
constexpr int kMinimiseChecksMax = 200;
constexpr std::size_t kMinimalLinesMax = 64;

std::uint64_t word_hash(LineId id, std::uint64_t word, std::uint64_t value) {
  SeededRandom where((std::uint64_t{id.area} << 58U) ^ (id.line * 8 + word));
  SeededRandom what(where.next() ^ value);
  return what.next();
}

std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
  return {text.data(), end};
}

/// The part of `text` before the first `separator`; `text` keeps what follows.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Number of states of a point, or more than kEnumerateMax.
std::uint64_t state_count(const std::map<LineId, PendingLine>& pending) {
  std::uint64_t count = 1;
  for (const auto& [id, line] : pending) {
    const std::uint64_t choices = line.choices();
    if (choices > kEnumerateMax || count * choices > kEnumerateMax) return kEnumerateMax + 1;
    count *= choices;
  }
  return count;
}

template <class T>
void shuffle(std::vector<T>& items, SeededRandom& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

std::string describe_lost(const Recording& recording, LineId id, const PendingLine& line) {
  std::set<std::string> sites;
  for (const StoreUnit& unit : line.units) sites.insert(recording.sites[unit.site]);
  std::string text = id.area == kRootArea ? "root words" : "region " + std::to_string(id.area - 1);
  text += " offset 0x" + hex(id.line * kLineBytes) + ", stored at";
  for (const std::string& site : sites) text += " " + site;
  return text;
}

}  // namespace

std::string CrashReport::to_string() const {
  std::string text = "seed " + std::to_string(seed) + ": " + std::to_string(states) + " states at " +
                     std::to_string(points) + " crash points, " + std::to_string(duplicates) +
                     " duplicates, " + std::to_string(failures) + " failures";
  for (const CrashFailure& failure : first_failures) {
    text += "\n  " + failure.token + ": " + failure.message + "\n    minimal: " + failure.minimal_token;
    for (const std::string& line : failure.lost) text += "\n    lost: " + line;
  }
  return text;
}

CrashOptions crash_options(std::uint64_t states_max) {
  const auto number = [](const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : parse_number(text).value_or(otherwise);
  };
  const char* replay = std::getenv("NVMDB_CRASH_REPLAY");
  return {.seed = number("NVMDB_CRASH_SEED", 1),
          .states_max = number("NVMDB_CRASH_STATES", states_max),
          .replay = replay == nullptr ? "" : replay};
}

CrashStates::CrashStates(const Recording& recording, const CrashOptions& options)
    : recording_(recording), options_(options), model_(options.fences) {
  rewind();
}

void CrashStates::rewind() {
  model_ = LineModel(options_.fences);
  // What does nothing while the work goes on does nothing in a recovery either.
  image_.emplace(RecordedOptions{
      .regions = recording_.regions, .pages = recording_.pages, .drop_sites = recording_.drop_sites});
  image_->mutable_device() = recording_.device;
  for (std::uint32_t area = 0; area < recording_.initial.size(); ++area)
    image_->load(area, recording_.initial[area]);
  point_ = 0;
  acks_.clear();
  marks_ = 0;
  phase_.clear();
  base_hash_ = 0;
  known_.clear();
}

void CrashStates::advance_to(std::uint64_t point) {
  for (; point_ < point; ++point_) {
    const Event& event = recording_.events[point_];
    if (event.kind == EventKind::Acknowledge) acks_.push_back(event.id);
    if (event.kind == EventKind::Phase) phase_ = event.name;
    if (event.kind == EventKind::Acknowledge || event.kind == EventKind::Phase) ++marks_;
    model_.step(recording_, point_,
                [this](LineId id, std::uint8_t word, std::uint64_t value, std::uint64_t mask) {
                  const std::uint64_t offset = id.line * kLineBytes + word * 8U;
                  std::uint64_t old = 0;
                  std::memcpy(&old, image_->bytes(id.area).data() + offset, 8);
                  const std::uint64_t now = (old & ~mask) | (value & mask);
                  image_->poke(id.area, offset, std::as_bytes(std::span(&now, 1)));
                  base_hash_ ^= word_hash(id, word, old) ^ word_hash(id, word, now);
                });
  }
}

std::vector<std::uint64_t> CrashStates::choose_points(SeededRandom& random) const {
  std::set<std::uint64_t> points{recording_.events.size()};
  for (std::uint64_t index = 0; index < recording_.events.size(); ++index) {
    const EventKind kind = recording_.events[index].kind;
    if (kind == EventKind::Fence) points.insert(index);
    if (kind == EventKind::Acknowledge || kind == EventKind::Phase) points.insert(index + 1);
  }
  for (std::uint64_t i = 0; i < options_.random_points; ++i)
    points.insert(random.below(recording_.events.size() + 1));
  std::vector<std::uint64_t> chosen(points.begin(), points.end());
  const std::uint64_t affordable = std::max<std::uint64_t>(1, options_.states_max / kStatesPerPointMin);
  if (chosen.size() > affordable) {
    shuffle(chosen, random);
    chosen.resize(affordable);
    std::sort(chosen.begin(), chosen.end());
  }
  return chosen;
}

std::vector<std::string> CrashStates::choose_states(std::uint64_t budget, SeededRandom& random) const {
  const auto& pending = model_.pending();
  std::vector<std::string> states;
  if (const std::uint64_t count = state_count(pending); count <= kEnumerateMax) {
    for (std::uint64_t number = 0; number < count; ++number)
      states.push_back("enum-" + std::to_string(number));
    shuffle(states, random);
    states.resize(std::min<std::size_t>(states.size(), budget));
    return states;
  }
  std::vector<std::uint64_t> lines(pending.size());
  for (std::uint64_t i = 0; i < lines.size(); ++i) lines[i] = i;
  shuffle(lines, random);
  lines.resize(std::min<std::size_t>(lines.size(), kSingleLinesMax));
  std::vector<std::string> structured;
  for (const std::uint64_t line : lines) {
    const std::uint64_t full =
        std::next(pending.begin(), static_cast<std::ptrdiff_t>(line))->second.choices() - 1;
    structured.push_back("none," + std::to_string(line) + "=" + std::to_string(full));
    structured.push_back("all," + std::to_string(line) + "=0");
    structured.push_back("upto-" + std::to_string(random.below(point_ + 1)));
    structured.push_back("newest-" + std::to_string(1 + random.below(pending.size())));
  }
  shuffle(structured, random);
  states = {"all", "none", "words"};
  const std::size_t room = budget > 3 ? static_cast<std::size_t>(budget - 3) : 0;
  structured.resize(std::min(structured.size(), room - room / 3));
  states.insert(states.end(), structured.begin(), structured.end());
  while (states.size() < budget) states.push_back("rand-" + hex(random.next()));
  states.resize(std::min<std::size_t>(states.size(), budget));
  return states;
}

std::optional<CrashStates::Choices> CrashStates::parse_choices(std::string_view text) const {
  const auto& pending = model_.pending();
  std::string_view base = take_until(text, ',');
  const std::string_view name = take_until(base, '-');
  const std::optional<std::uint64_t> argument = parse_number(base, name == "rand" ? 16 : 10);
  const bool wants_argument = name == "enum" || name == "upto" || name == "newest" || name == "rand";
  if (wants_argument != argument.has_value()) return std::nullopt;
  // Each random state has its own rates of whole and of lost lines, so that rare mixtures turn up as well.
  SeededRandom random(argument.value_or(0));
  const double whole = random.unit();
  const double torn = random.unit() * random.unit();
  std::vector<std::uint64_t> newest;
  for (const auto& [id, line] : pending) newest.push_back(line.units.back().event);
  std::sort(newest.rbegin(), newest.rend());
  Choices choices;
  std::uint64_t rest = argument.value_or(0);
  for (const auto& [id, line] : pending) {
    const std::uint64_t count = line.choices();
    std::uint64_t choice = 0;
    if (name == "all")
      choice = count - 1;
    else if (name == "words")
      choice = line.only_single_words() ? count - 1 : 0;
    else if (name == "enum")
      choice = std::exchange(rest, rest / count) % count;
    else if (name == "upto")
      choice = line.choice_before(rest);
    else if (name == "newest")
      choice = line.units.back().event >= newest[std::clamp<std::uint64_t>(rest, 1, newest.size()) - 1]
                   ? count - 1
                   : 0;
    else if (name == "rand")
      choice = random.chance(torn) ? random.below(count) : random.chance(whole) ? count - 1 : 0;
    else if (name != "none")
      return std::nullopt;
    choices.push_back(choice);
  }
  while (!text.empty()) {
    std::string_view value = take_until(text, ',');
    const auto index = parse_number(take_until(value, '='));
    const auto choice = parse_number(value);
    if (!index.has_value() || !choice.has_value() || *index >= choices.size()) return std::nullopt;
    if (*choice >= std::next(pending.begin(), static_cast<std::ptrdiff_t>(*index))->second.choices())
      return std::nullopt;
    choices[*index] = *choice;
  }
  return choices;
}

std::optional<std::string> CrashStates::check_state(const Choices& choices, std::string_view token,
                                                    const CrashCheck& check, bool skip_known) {
  image_->keep_undo();
  std::uint64_t hash = base_hash_;
  std::size_t index = 0;
  for (const auto& [id, line] : model_.pending()) {
    const std::uint64_t choice = choices[index++];
    if (choice == 0) continue;
    std::array<std::uint64_t, 8> old{};
    std::memcpy(old.data(), image_->bytes(id.area).data() + id.line * kLineBytes, kLineBytes);
    std::array<std::uint64_t, 8> now = old;
    line.apply(choice, now);
    for (std::uint64_t word = 0; word < 8; ++word) {
      if (now[word] == old[word]) continue;
      image_->poke(id.area, id.line * kLineBytes + word * 8, std::as_bytes(std::span(&now[word], 1)));
      hash ^= word_hash(id, word, old[word]) ^ word_hash(id, word, now[word]);
    }
  }
  std::optional<std::string> outcome;
  if (known_.insert(SeededRandom(hash ^ SeededRandom(marks_).next()).next()).second || !skip_known) {
    CrashState state{.media = *image_, .acks = acks_, .phase = phase_, .token = token};
    outcome = check(state);
  }
  image_->roll_back();
  return outcome;
}

CrashReport CrashStates::explore(const CrashCheck& check) {
  CrashReport report;
  report.seed = options_.seed;
  if (!options_.replay.empty()) {
    const Result<std::string> outcome = replay(options_.replay, check);
    const std::string message = outcome.is_ok() ? outcome.value() : outcome.status().to_string();
    report.points = report.states = 1;
    report.failures = message.empty() ? 0 : 1;
    if (!message.empty()) report.first_failures.push_back({options_.replay, message, options_.replay, {}});
    return report;
  }
  rewind();
  SeededRandom random(options_.seed);
  const std::vector<std::uint64_t> points = choose_points(random);
  report.points = points.size();
  for (std::size_t i = 0; i < points.size(); ++i) {
    advance_to(points[i]);
    const std::uint64_t left = options_.states_max - std::min(options_.states_max, report.states);
    explore_point(left / (points.size() - i), random, check, report);
    if (options_.stop_at_failure && report.failures > 0) break;
  }
  return report;
}

void CrashStates::explore_point(std::uint64_t budget, SeededRandom& random, const CrashCheck& check,
                                CrashReport& report) {
  for (const std::string& text : choose_states(budget, random)) {
    const std::optional<Choices> choices = parse_choices(text);
    NVMDB_CHECK(choices.has_value(), "a generated state cannot be parsed: " + text);
    const std::string token = token_of(text);
    const std::optional<std::string> outcome = check_state(*choices, token, check, true);
    ++(outcome.has_value() ? report.states : report.duplicates);
    if (!outcome.has_value() || outcome->empty()) continue;
    ++report.failures;
    if (options_.stop_at_failure) {
      report.first_failures.push_back({token, *outcome, token, {}});
      return;
    }
    if (report.first_failures.size() < 3) {
      report.first_failures.push_back(minimise(token, *outcome, *choices, check));
    }
  }
}

CrashFailure CrashStates::minimise(std::string token, std::string message, Choices choices,
                                   const CrashCheck& check) {
  const auto& pending = model_.pending();
  std::vector<std::uint64_t> full;
  for (const auto& [id, line] : pending) full.push_back(line.choices() - 1);
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (choices[i] != full[i]) lost.push_back(i);
  }
  int checks = 0;
  for (std::size_t chunk = lost.size(); chunk > 0; chunk /= 2) {
    for (std::size_t at = 0; at < lost.size() && checks < kMinimiseChecksMax; ++checks) {
      Choices fewer = choices;
      const std::size_t end = std::min(at + chunk, lost.size());
      for (std::size_t i = at; i < end; ++i) fewer[lost[i]] = full[lost[i]];
      if (check_state(fewer, "minimising " + token, check, false).value_or("").empty()) {
        at = end;
        continue;
      }
      choices = std::move(fewer);
      lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(at),
                 lost.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  CrashFailure failure{.token = token, .message = std::move(message), .minimal_token = {}, .lost = {}};
  if (lost.size() > kMinimalLinesMax) {
    failure.minimal_token = std::move(token);
    return failure;
  }
  std::string text = "all";
  for (const std::size_t line : lost)
    text += "," + std::to_string(line) + "=" + std::to_string(choices[line]);
  failure.minimal_token = token_of(text);
  for (const std::size_t line : lost) {
    const auto found = std::next(pending.begin(), static_cast<std::ptrdiff_t>(line));
    failure.lost.push_back(describe_lost(recording_, found->first, found->second));
  }
  return failure;
}

std::string CrashStates::token_of(std::string_view choice_text) const {
  return std::to_string(options_.seed) + ":" + std::to_string(point_) + ":" + std::string(choice_text);
}

Result<std::string> CrashStates::replay(std::string_view token, const CrashCheck& check) {
  std::string_view text = token;
  const auto seed = parse_number(take_until(text, ':'));
  const auto point = parse_number(take_until(text, ':'));
  if (!seed.has_value() || !point.has_value() || *point > recording_.events.size()) {
    return Status::invalid_argument("not a token of this recording: " + std::string(token));
  }
  rewind();
  advance_to(*point);
  const std::optional<Choices> choices = parse_choices(text);
  if (!choices.has_value()) {
    return Status::invalid_argument("not a token of this recording: " + std::string(token));
  }
  return check_state(*choices, token, check, false).value_or("");
}

}  // namespace nvmdb::test
