#include "report/merge.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "audit/pairs.h"
#include "report/time.h"

namespace device_audit::report {
namespace {

Json time_or_null(std::optional<std::uint64_t> time) {
  return time && *time ? Json(in_utc(*time)) : Json();
}

Json number_or_null(std::optional<std::uint64_t> value) {
  return value ? Json(*value) : Json();
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

// What the shell sees of a code given to exit.
Json exit_code(const Json& value) {
  return value.is_number_integer() ? Json(static_cast<std::uint64_t>(value.get<std::int64_t>()) & 0xff) : Json();
}

const Json& last(const Journal& journal, std::string_view type) {
  static const Json none;
  const Json* record = journal.last(type);
  return record ? *record : none;
}

std::uint64_t process_id(const Journal& journal) {
  if (const auto pid = number(last(journal, "process"), "pid")) return *pid;
  return std::strtoull(journal.file.c_str(), nullptr, 10);
}

// What `device-audit run` saw of the program that it started: it is the last journal with that process id.
const Json* seen_by_run(const Recording& recording, const Journal& journal) {
  if (!recording.run) return nullptr;
  const Json* ended = recording.run->last("ended");
  if (!ended || number(*ended, "pid") != process_id(journal)) return nullptr;
  if (text(last(*recording.run, "run"), "host") != text(last(journal, "process"), "host")) return nullptr;
  const auto later = std::any_of(recording.processes.begin(), recording.processes.end(), [&](const Journal& other) {
    return process_id(other) == process_id(journal) &&
           number(last(other, "process"), "started") > number(last(journal, "process"), "started");
  });
  return later ? nullptr : ended;
}

Json ending(const Recording& recording, const Journal& journal) {
  const Json& end = last(journal, "end");
  const Json* seen = seen_by_run(recording, journal);
  if (seen) {
    const auto signal = number(*seen, "signal");
    return {{"ended", signal ? "signal" : "exit"},
            {"ended_ns", number_or_null(number(*seen, "ended"))},
            {"exit_code", signal ? Json() : number_or_null(number(*seen, "exit"))},
            {"signal", number_or_null(signal)}};
  }
  return {{"ended", end.is_null() ? "unknown" : "exit"},
          {"ended_ns", number_or_null(number(end, "ended"))},
          {"exit_code", exit_code(member(end, "code"))}};
}

Json overhead(const Journal& journal, std::optional<std::uint64_t> started, std::optional<std::uint64_t> ended) {
  const Json& observed = last(journal, "observed");
  const std::uint64_t operators = std::max(number(observed, "operators").value_or(0), journal.counts.operators());
  const std::uint64_t self = std::max(number(observed, "self_ns").value_or(0), journal.counts.self_ns());
  Json cost{{"operators", operators}, {"self_ns", self ? Json(self) : Json()}, {"journal_bytes", journal.bytes}};
  if (started && ended && *ended > *started) {
    cost["run_ns"] = *ended - *started;
    if (self) cost["share"] = static_cast<double>(self) / static_cast<double>(*ended - *started);
  }
  return cost;
}

Json process(const Recording& recording, const Journal& journal) {
  Json process = last(journal, "process").is_object() ? last(journal, "process") : Json::object();
  const std::optional<std::uint64_t> started = number(process, "started");
  process["journal"] = {{"file", journal.file},
                        {"version", number_or_null(number(process, "journal"))},
                        {"records", journal.records.size()},
                        {"damaged", journal.damaged},
                        {"missing", journal.missing},
                        {"torn", journal.torn}};
  process["pid"] = process_id(journal);
  process["started"] = time_or_null(started);
  for (const char* name : {"torch", "python", "cuda", "adapter", "adapter_why"}) {
    process[name] = member(last(journal, "runtime"), name);
  }
  process["devices"] = member(last(journal, "devices"), "devices");
  process.update(ending(recording, journal));
  const std::optional<std::uint64_t> ended = number(process, "ended_ns");
  process["ended_at"] = time_or_null(ended);
  process["overhead"] = overhead(journal, started, ended);
  process["uncaught"] = last(journal, "uncaught");
  return process;
}

// The run as `device-audit run` saw it, or else as its first process does.
Json run(const Recording& recording, const std::vector<const Journal*>& journals) {
  Json run = Json::object();
  const Journal* first = nullptr;
  for (const Journal* each : journals) {
    const auto started = number(last(*each, "process"), "started");
    if (started && (!first || *started < *number(last(*first, "process"), "started"))) first = each;
  }
  if (recording.run && recording.run->last("run")) {
    const Json& ended = last(*recording.run, "ended");
    run = last(*recording.run, "run");
    run["exit"] = member(ended, "exit");
    run["signal"] = member(ended, "signal");
    run["ended"] = time_or_null(number(ended, "ended"));
  } else if (first) {
    const Json& end = last(*first, "end");
    run = last(*first, "process");
    run["exit"] = exit_code(member(end, "code"));
    run["ended"] = time_or_null(number(end, "ended"));
  }
  run["started"] = time_or_null(number(run, "started"));
  run["directory"] = recording.directory;
  return run;
}

// A finding in one process.
struct Sighting {
  std::size_t process = 0;
  const Json* record = nullptr;
  Counters counters;
  std::uint64_t first_seen = 0;
  std::optional<bool> caught;
  bool ended = false;  // its error ended the process
};

// Sightings of the same, by process.
using Group = std::vector<Sighting>;

// The findings of one process, each with its counters and what became of its error.
std::vector<Sighting> sightings(const Journal& journal, std::size_t process) {
  std::vector<Sighting> all;
  std::map<Json, std::size_t> by_id;
  for (const Json& record : journal.records) {
    const std::string type = text(record, "type");
    const auto found = by_id.find(member(record, type == "finding" ? "id" : "finding"));
    if (type == "finding") {
      if (found != by_id.end()) continue;
      by_id[member(record, "id")] = all.size();
      Sighting sighting{process, &record, {}, number(record, "first_seen").value_or(0), {}, false};
      if (const auto slot = number(record, "slot")) sighting.counters = journal.counts.at(*slot).value_or(Counters());
      all.push_back(sighting);
    } else if (found != by_id.end()) {
      Sighting& sighting = all[found->second];
      const Json& caught = member(record, "caught");
      if (type == "counts") {
        sighting.counters = {number(record, "count").value_or(0), number(record, "last_seen").value_or(0),
                             number(record, "bytes").value_or(0), number(record, "duration_ns").value_or(0)};
      } else if (type == "uncaught") {
        sighting.caught = false;
        sighting.ended = true;
      } else if (type == "outcome" && caught.is_boolean()) {
        sighting.caught = caught.get<bool>() && sighting.caught.value_or(true);
      }
    }
  }
  for (Sighting& each : all) {
    // It is counted after it is written: a kill can come between.
    each.counters.count = std::max<std::uint64_t>(each.counters.count, 1);
    each.counters.last_seen = std::max(each.counters.last_seen, each.first_seen);
  }
  return all;
}

// Devices in their order, without the numbers: ["cuda:1", "cpu"] and ["cuda:0", "cpu"] are alike, two GPUs are not one.
std::string kind_of(const std::vector<std::string>& devices) {
  std::string kinds;
  for (const std::string& device : devices) kinds += device.substr(0, device.find(':')) + ",";
  return kinds;
}

std::string key(const Json& record) {
  const Json& site = member(record, "site");
  Json names = Json::array();
  const Json& operands = member(record, "operands");
  if (operands.is_array()) {
    for (const Json& operand : operands) {
      names.push_back(member(operand, member(operand, "name").is_string() ? "name" : "argument"));
    }
  }
  // Without Python the site is only known once the native stack is resolved: what it is made from stands in for it.
  const Json& place =
      site.is_object() ? Json{text(site, "file"), number(site, "line").value_or(0)} : member(record, "native");
  return dumped(
      Json{text(record, "verdict"), text(record, "operator"), place, names, kind_of(texts(record, "devices"))});
}

// The group that a sighting belongs to: of those alike, one with the same devices, else one of other processes alone.
Group* find_group(std::vector<Group*>& alike, const Sighting& sighting) {
  for (Group* group : alike) {
    for (const Sighting& each : *group) {
      if (member(*each.record, "devices") == member(*sighting.record, "devices")) return group;
    }
  }
  for (Group* group : alike) {
    if (std::none_of(group->begin(), group->end(),
                     [&](const Sighting& each) { return each.process == sighting.process; })) {
      return group;
    }
  }
  return nullptr;
}

std::vector<Group> grouped(const std::vector<const Journal*>& journals) {
  std::vector<std::unique_ptr<Group>> groups;
  std::map<std::string, std::vector<Group*>> by_key;
  for (std::size_t process = 0; process < journals.size(); ++process) {
    for (const Sighting& sighting : sightings(*journals[process], process)) {
      std::vector<Group*>& alike = by_key[key(*sighting.record)];
      Group* group = find_group(alike, sighting);
      if (!group) {
        groups.push_back(std::make_unique<Group>());
        group = alike.emplace_back(groups.back().get());
      }
      group->push_back(sighting);
    }
  }
  std::vector<Group> all;
  all.reserve(groups.size());
  for (auto& group : groups) all.push_back(std::move(*group));
  return all;
}

Json caught(const Group& group) {
  if (text(*group.front().record, "verdict") != "mismatch") return nullptr;
  bool known = true;
  for (const Sighting& each : group) {
    if (each.caught == false) return false;
    known = known && each.caught;
  }
  return known ? Json(true) : Json("unknown");
}

Json native_frames(const Json& record) {
  Json frames = Json::array();
  const Json& libraries = member(record, "libraries");
  const Json& native = member(record, "native");
  if (!native.is_array()) return frames;
  for (const Json& each : native) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_number_integer() || !each[1].is_string()) continue;
    Json frame{{"offset", each[1]}};
    const auto index = each[0].get<std::int64_t>();
    if (libraries.is_array() && index >= 0 && static_cast<std::size_t>(index) < libraries.size()) {
      const Json& library = libraries[static_cast<std::size_t>(index)];
      frame["library"] = member(library, "path");
      frame["build_id"] = member(library, "build_id");
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

// The one whose facts are shown: the one that ended a process, else the first.
const Sighting& shown(const Group& group) {
  return *std::min_element(group.begin(), group.end(), [](const Sighting& a, const Sighting& b) {
    return std::tuple(!a.ended, a.first_seen) < std::tuple(!b.ended, b.first_seen);
  });
}

Json finding(const Group& group) {
  const Json& record = *shown(group).record;
  Json finding = record;
  finding["caught"] = caught(group);
  finding["stack"] = {{"python", member(record, "python")}, {"native", native_frames(record)}};
  std::vector<Operand> devices;
  std::map<std::size_t, Json> by_process;
  Counters all;
  std::uint64_t first_seen = shown(group).first_seen;
  std::set<std::size_t> ended;
  for (const Sighting& each : group) {
    for (const std::string& device : texts(*each.record, "devices")) devices.emplace_back().device = device;
    all = {sum(all.count, each.counters.count), std::max(all.last_seen, each.counters.last_seen),
           sum(all.bytes, each.counters.bytes), sum(all.duration_ns, each.counters.duration_ns)};
    first_seen = std::min(first_seen, each.first_seen);
    if (each.ended) ended.insert(each.process);
    Json& share = by_process[each.process];
    share = {{"process", each.process},
             {"devices", texts(*each.record, "devices")},
             {"count", sum(number(share, "count").value_or(0), each.counters.count)},
             {"bytes", sum(number(share, "bytes").value_or(0), each.counters.bytes)},
             {"duration_ns", sum(number(share, "duration_ns").value_or(0), each.counters.duration_ns)}};
  }
  finding["devices"] = devices_of(devices);
  finding["count"] = all.count;
  finding["bytes"] = all.bytes;
  finding["duration_ns"] = all.duration_ns;
  finding["first_seen_ns"] = first_seen;
  finding["first_seen"] = time_or_null(first_seen);
  finding["last_seen"] = time_or_null(all.last_seen);
  finding["ended"] = ended;
  finding["processes"] = Json::array();
  finding["by_process"] = Json::array();
  for (auto& [process, share] : by_process) {
    finding["processes"].push_back(process);
    finding["by_process"].push_back(std::move(share));
  }
  return finding;
}

enum class Rank { stopped, mismatch, invalid, caught, implicit, sync, transfer, other };

Rank rank(const Group& group) {
  const std::string verdict = text(*group.front().record, "verdict");
  if (std::any_of(group.begin(), group.end(), [](const Sighting& each) { return each.ended; })) return Rank::stopped;
  if (verdict == "mismatch") return caught(group) == true ? Rank::caught : Rank::mismatch;
  if (verdict == "invalid") return Rank::invalid;
  if (verdict == "implicit") return Rank::implicit;
  if (verdict == "sync") return Rank::sync;
  return verdict == "transfer" ? Rank::transfer : Rank::other;
}

// Smaller is more important: what happened first for what raised or is wrong, what costs most for the others.
auto importance(const Group& group) {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stopped_at = std::numeric_limits<std::uint64_t>::max();
  for (const Sighting& each : group) {
    count = sum(count, each.counters.count);
    bytes = sum(bytes, each.counters.bytes);
    if (each.ended) stopped_at = std::min(stopped_at, each.counters.last_seen);
  }
  const Rank of = rank(group);
  const bool by_cost = of >= Rank::implicit;
  const std::uint64_t most = of == Rank::transfer ? bytes : count;
  const std::uint64_t then = of == Rank::transfer ? count : bytes;
  return std::tuple(of, stopped_at, by_cost ? ~most : 0, by_cost ? ~then : 0, shown(group).first_seen);
}

Json findings(const std::vector<const Journal*>& journals, Json& processes) {
  const std::vector<Group> groups = grouped(journals);
  std::multimap<decltype(importance(groups.front())), const Group*> by_importance;
  for (const Group& group : groups) by_importance.emplace(importance(group), &group);
  Json findings = Json::array();
  for (const auto& [importance, group] : by_importance) {
    const std::string number_text = std::to_string(findings.size() + 1);
    const std::string id = (number_text.size() < 2 ? "F0" : "F") + number_text;
    findings.push_back(finding(*group));
    findings.back()["id"] = id;
    for (const Sighting& each : *group) {
      Json& uncaught = processes[each.process]["uncaught"];
      if (member(uncaught, "finding") == member(*each.record, "id")) uncaught["finding"] = id;
    }
  }
  return findings;
}

Json switched_off(const std::vector<const Journal*>& journals) {
  Json all = Json::array();
  for (std::size_t process = 0; process < journals.size(); ++process) {
    for (const Json& record : journals[process]->records) {
      if (text(record, "type") != "switched_off") continue;
      all.push_back({{"what", member(record, "what")},
                     {"why", member(record, "why")},
                     {"since", time_or_null(number(record, "since"))},
                     {"process", process}});
    }
  }
  return all;
}

std::string several(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Json unseen(const std::vector<const Journal*>& journals) {
  Json all = Json::array();
  for (const Journal* journal : journals) {
    const std::string records = "records of " + journal->file;
    if (!journal->problem.empty()) all.push_back({{"what", records}, {"why", journal->problem}});
    if (journal->damaged) {
      all.push_back({{"what", records}, {"why", several(journal->damaged, "damaged line") + " skipped"}});
    }
    if (journal->torn) all.push_back({{"what", "the last record of " + journal->file}, {"why", "cut off"}});
    if (journal->missing) {
      all.push_back({{"what", records}, {"why", several(journal->missing, "sequence number") + " missing"}});
    }
    const Json& runtime = last(*journal, "runtime");
    if (runtime.is_object() && !member(runtime, "adapter").is_string()) {
      const std::string why = text(runtime, "adapter_why");
      all.push_back({{"what", "everything in process " + std::to_string(process_id(*journal))},
                     {"why", why.empty() ? "no adapter" : why}});
    }
  }
  return all;
}

// 1 where every operator of every process was observed; how many were is not known otherwise.
Json observed_share(const std::vector<const Journal*>& journals) {
  const bool all = !journals.empty() && std::all_of(journals.begin(), journals.end(), [](const Journal* journal) {
    return text(last(*journal, "process"), "mode") == "full" &&
           member(last(*journal, "runtime"), "adapter").is_string();
  });
  return all ? Json(1.0) : Json();
}

std::vector<const Journal*> in_order(const Recording& recording) {
  std::vector<const Journal*> journals;
  for (const Journal& journal : recording.processes) journals.push_back(&journal);
  const auto place = [](const Journal* journal) {
    const Json& process = last(*journal, "process");
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
    return std::tuple(number(process, "rank").value_or(kNone), number(process, "started").value_or(kNone));
  };
  std::stable_sort(journals.begin(), journals.end(),
                   [&](const Journal* a, const Journal* b) { return place(a) < place(b); });
  return journals;
}

}  // namespace

Json merge(const Recording& recording) {
  const std::vector<const Journal*> journals = in_order(recording);
  Json report{{"schema_version", "1"}, {"generator", {{"name", "device-audit"}, {"version", DEVICE_AUDIT_VERSION}}}};
  report["run"] = run(recording, journals);
  report["processes"] = Json::array();
  for (const Journal* journal : journals) report["processes"].push_back(process(recording, *journal));
  report["findings"] = findings(journals, report["processes"]);
  report["coverage"] = {{"observed_share", observed_share(journals)},
                        {"switched_off", switched_off(journals)},
                        {"unseen", unseen(journals)}};
  return report;
}

}  // namespace device_audit::report
