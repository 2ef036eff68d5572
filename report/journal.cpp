#include "report/journal.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "report/files.h"

namespace device_audit::report {
namespace {

constexpr std::string_view kStart = R"({"crc":")";
constexpr std::size_t kChecksumDigits = 8;
constexpr std::size_t kLongestLine = 16 << 20;
constexpr int kDeepest = 200;  // what reads the parsed value recurs
constexpr std::uint64_t kMagic = 0x31544e554f434144;
constexpr std::size_t kLargestCounts = 64 << 20;

std::string checksum(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  char digits[kChecksumDigits + 1];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(crc.checksum()));
  return digits;
}

bool too_deep(std::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

std::optional<Json> parse_line(std::string_view line) {
  if (line.size() > kLongestLine || !line.starts_with(kStart)) return std::nullopt;
  line.remove_prefix(kStart.size());
  if (line.size() < kChecksumDigits + 2) return std::nullopt;
  const std::string_view digits = line.substr(0, kChecksumDigits);
  line.remove_prefix(kChecksumDigits);
  if (!line.starts_with("\",")) return std::nullopt;
  line.remove_prefix(2);
  if (!line.starts_with("\"seq\"") || checksum(line) != digits || too_deep(line)) return std::nullopt;
  Json record = Json::parse("{" + std::string(line), nullptr, false);
  if (record.is_discarded() || !number(record, "seq") || text(record, "type").empty()) return std::nullopt;
  return record;
}

// A write that the disk cut short leaves a damaged line whose end is the next, whole record.
std::optional<Json> parse_end(std::string_view line) {
  const std::size_t start = line.rfind(kStart);
  return start == std::string_view::npos || start == 0 ? std::nullopt : parse_line(line.substr(start));
}

std::uint64_t missing_below_highest(std::vector<std::uint64_t> sequence) {
  if (sequence.empty()) return 0;
  std::sort(sequence.begin(), sequence.end());
  const auto distinct = static_cast<std::uint64_t>(std::unique(sequence.begin(), sequence.end()) - sequence.begin());
  return sequence[distinct - 1] - (distinct - 1);
}

// "41279.jsonl", "41279-2.jsonl".
bool is_process_journal(const std::string& name) {
  return name.ends_with(".jsonl") && std::isdigit(static_cast<unsigned char>(name.front()));
}

Journal read_journal(const std::filesystem::path& path) {
  const std::optional<std::string> content = read_file(path.string(), Links::refuse);
  Journal journal = content ? parse_journal(*content) : Journal();
  if (!content) journal.problem = std::strerror(errno);
  journal.file = path.filename().string();
  std::filesystem::path counts = path;
  if (const auto bytes = read_file(counts.replace_extension("counts").string(), Links::refuse, kLargestCounts)) {
    journal.counts = Counts(*bytes);
  }
  return journal;
}

}  // namespace

Counts::Counts(std::string_view bytes) {
  std::vector<std::uint64_t> slots(bytes.size() / 8);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (std::size_t byte = 8; byte-- > 0;) {
      slots[i] = slots[i] << 8 | static_cast<unsigned char>(bytes[8 * i + byte]);
    }
  }
  if (slots.size() < 2 || slots[0] != kMagic) return;
  if (slots[1] < slots.size()) slots.resize(slots[1]);
  slots_ = std::move(slots);
}

std::optional<Counters> Counts::at(std::uint64_t slot) const {
  if (slots_.size() < 4 || slot > slots_.size() - 4) return std::nullopt;
  return Counters{slots_[slot], slots_[slot + 1], slots_[slot + 2], slots_[slot + 3]};
}

const Json* Journal::last(std::string_view type) const {
  const auto found =
      std::find_if(records.rbegin(), records.rend(), [type](const Json& each) { return text(each, "type") == type; });
  return found == records.rend() ? nullptr : &*found;
}

std::string journal_line(const Report& record) {
  const std::string members = dumped(record).substr(1);
  return std::string(kStart) + checksum(members) + "\"," + members + "\n";
}

Journal parse_journal(std::string_view content) {
  Journal journal;
  journal.bytes = content.size();
  std::vector<std::uint64_t> sequence;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    const std::string_view line = content.substr(0, end);
    const bool whole = end != std::string_view::npos;
    content.remove_prefix(whole ? end + 1 : content.size());
    std::optional<Json> record = parse_line(line);
    if (!record) {
      if (whole || line.size() > kLongestLine) {
        ++journal.damaged;
      } else {
        journal.torn = true;
      }
      record = parse_end(line);
    }
    if (!record) continue;
    sequence.push_back(*number(*record, "seq"));
    journal.records.push_back(std::move(*record));
  }
  journal.missing = missing_below_highest(std::move(sequence));
  return journal;
}

Recording read_recording(const std::string& directory) {
  Recording recording;
  std::error_code error;
  recording.directory = std::filesystem::absolute(directory, error).lexically_normal().string();
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    paths.push_back(each->path());
  }
  if (error) recording.problem = error.message();
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.filename().string();
    if (name == "run.jsonl") {
      recording.run = read_journal(path);
    } else if (is_process_journal(name)) {
      recording.processes.push_back(read_journal(path));
    }
  }
  return recording;
}

}  // namespace device_audit::report
