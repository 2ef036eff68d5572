// The pure parts: text, checksum, settings.
#include "hook/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "audit/settings.h"
#include "core_test.h"
#include "hook/crc.h"

namespace device_audit::core {
namespace {

std::string as_json(std::string_view text) {
  FixedText<1024> json;
  json.quoted(text);
  return std::string(json.view());
}

TEST(Text, QuotesAsJson) {
  EXPECT_EQ(as_json("a\"b\\c\n\t\x01\x7F"), "\"a\\\"b\\\\c\\n\\u0009\\u0001\\u007f\"");
  const std::string good = "\xC3\xA4 \xE2\x86\x90 \xF0\x9F\x98\x80 \xED\x9F\xBF \xEE\x80\x80";
  EXPECT_EQ(nlohmann::json::parse(as_json(good)), good);
  EXPECT_EQ(as_json(std::string_view("a\0b", 3)), "\"a\\u0000b\"");
}

TEST(Text, ReplacesWhatIsNotUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  for (const char* bad : {"\xFF", "\x80", "\xC0", "\xC1", "\xF5", "\xC3", "\xE2", "\xF0"}) {
    EXPECT_EQ(as_json(bad), '"' + mark + '"');
  }
  EXPECT_EQ(as_json("\xE0\x80\x80"), '"' + mark + mark + mark + '"') << "overlong";
  EXPECT_EQ(as_json("\xED\xA0\x80"), '"' + mark + mark + mark + '"') << "surrogate";
  EXPECT_EQ(as_json("\xF4\x90\x80\x80"), '"' + mark + mark + mark + mark + '"') << "beyond U+10FFFF";
  EXPECT_EQ(as_json("\xE2\x86x"), '"' + mark + mark + "x\"") << "cut short";
}

TEST(Text, CutsWhatDoesNotFit) {
  FixedText<8> text;
  text << "12345" << 678;
  EXPECT_TRUE(text.cut());
  EXPECT_STREQ(text.c_str(), "1234567");
  text.shorten(2);
  EXPECT_FALSE(text.cut());
  text << -45;
  EXPECT_STREQ(text.c_str(), "12-45");
  text.clear();
  text.padded(7, 3) << 'x';
  EXPECT_STREQ(text.c_str(), "007x");
}

TEST(Crc, IsTheStandards) {
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414FA339u);
  std::string all;
  for (int i = 0; i < 1000; ++i) all += static_cast<char>(i * 7);
  EXPECT_EQ(crc32(all), slow_crc(all));
  EXPECT_EQ(crc32(all.substr(300), crc32(all.substr(0, 300))), slow_crc(all));
}

TEST(Settings, AcceptWhatTheTableSays) {
  EXPECT_TRUE(accepts(setting(SettingId::mode), "adaptive"));
  EXPECT_FALSE(accepts(setting(SettingId::mode), "adapt"));
  EXPECT_FALSE(accepts(setting(SettingId::mode), ""));
  EXPECT_FALSE(accepts(setting(SettingId::mode), "full, adaptive"));
  EXPECT_TRUE(accepts(setting(SettingId::format), ""));
  EXPECT_TRUE(accepts(setting(SettingId::format), "json, sarif"));
  EXPECT_FALSE(accepts(setting(SettingId::format), "json,,html"));
  EXPECT_FALSE(accepts(setting(SettingId::format), "json,pdf"));
  EXPECT_TRUE(accepts(setting(SettingId::simulate), "64"));
  EXPECT_FALSE(accepts(setting(SettingId::simulate), "65"));
  EXPECT_FALSE(accepts(setting(SettingId::simulate), "-1"));
  EXPECT_FALSE(accepts(setting(SettingId::origins), "yes"));
  EXPECT_EQ(find_setting("DEVICE_AUDIT")->id, SettingId::enabled);
  EXPECT_EQ(find_setting("DEVICE_AUDIT_SIMULATE_MEMORY")->id, SettingId::simulate_memory);
  EXPECT_EQ(find_setting("DEVICE_AUDIT_"), nullptr);
  EXPECT_EQ(effective(setting(SettingId::log), nullptr), "warn");
  EXPECT_EQ(effective(setting(SettingId::log), "loud"), "warn");
  EXPECT_EQ(effective(setting(SettingId::log), "off"), "off");
}

TEST(Settings, SizesAndCounts) {
  EXPECT_EQ(parse_size("16GiB"), 16ull << 30);
  EXPECT_EQ(parse_size("1 KiB"), 1024u);
  EXPECT_EQ(parse_size("4096"), 4096u);
  for (const char* bad : {"", "GiB", "0", "16GB", "16gib", "-1", "1.5GiB", "99999999999TiB", "18446744073709551616"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_count("18446744073709551616"), std::nullopt);
  EXPECT_EQ(signal_number("SIGUSR2"), SIGUSR2);
  EXPECT_EQ(signal_number("none"), 0);
}

}  // namespace
}  // namespace device_audit::core
