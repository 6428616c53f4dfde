#include "backend/models/llama/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <string>

#include "backend/models/llama/checkpoint.h"
#include "backend/models/llama/error.h"

namespace syncopate::models::llama {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

class Safetensors : public ::testing::Test {
 protected:
  Safetensors()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("safetensors_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Safetensors() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path write_file(const std::string& header, const std::string& data,
                                   const std::string& name = "model.safetensors") const {
    return write(name, little_endian(header.size(), 8) + header + data);
  }
  /// Expects that opening the file fails with an error that names it, `tensor`, and says `reason`.
  void expect_refused(const std::string& header, const std::string& data, const std::string& tensor,
                      const std::string& reason) const {
    const auto path = write_file(header, data);
    try {
      const SafetensorsFile file(path);
      ADD_FAILURE() << "opened: " << header;
    } catch (const CheckpointError& error) {
      EXPECT_EQ(error.file(), path.string());
      EXPECT_EQ(error.tensor(), tensor) << header;
      EXPECT_THAT(error.what(), HasSubstr(reason)) << header;
    }
  }

  std::filesystem::path folder_;
};

TEST_F(Safetensors, ConvertsTheThreeFloatTypesExactly) {
  const std::string data = little_endian(0x3fc00000, 4) + little_endian(0x80000000, 4) +  // F32
                           little_endian(0x3fc0, 2) + little_endian(0xc2f7, 2) +          // BF16
                           little_endian(0x3e00, 2) + little_endian(0xc500, 2) +          // F16
                           little_endian(0x0001, 2) + little_endian(0xfc00, 2);
  const SafetensorsFile file(
      write_file(R"({"__metadata__":{"format":"pt"},)"
                 R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                 R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]},)"
                 R"("c":{"dtype":"F16","shape":[2,2],"data_offsets":[12,20]}})",
                 data));
  float values[4];
  file.find("a", {2}).read(0, std::span(values, 2));
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_TRUE(values[1] == 0.0f && std::signbit(values[1]));
  file.find("b", {1, 2}).read(0, std::span(values, 2));
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_EQ(values[1], -123.5f);
  file.find("c", {2, 2}).read(0, values);
  EXPECT_THAT(values, ElementsAre(1.5f, -5.0f, 0x1p-24f, -std::numeric_limits<float>::infinity()));
}

TEST_F(Safetensors, ReadsAPartOfATensor) {
  const std::string data = little_endian(0x3f80, 2) + little_endian(0x4000, 2) +  // BF16 1, 2
                           little_endian(0x4040, 2) +                             // BF16 3
                           little_endian(0x3f800000, 4) + little_endian(0x40000000, 4);  // F32 1, 2
  const SafetensorsFile file(write_file(R"({"a":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                                        R"("b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]}})",
                                        data));
  const FloatTensor a = file.find("a", {3}), b = file.find("b", {2});
  EXPECT_EQ(a.size(), 3u);
  EXPECT_EQ(b.size(), 2u);
  float values[2];
  a.read(1, values);
  EXPECT_THAT(values, ElementsAre(2.0f, 3.0f));
  b.read(1, std::span(values).last(1));
  EXPECT_THAT(values, ElementsAre(2.0f, 2.0f));
}

TEST_F(Safetensors, ReadsTensorsThatAreNotAligned) {
  const SafetensorsFile file(write_file(R"({"pad":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                        R"("a":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                                        "x" + little_endian(0x40490fdb, 4)));
  float value;
  file.find("a", {1}).read(0, {&value, 1});
  EXPECT_EQ(value, 0x1.921fb6p+1f);
}

TEST_F(Safetensors, AcceptsATensorWithoutElements) {
  const SafetensorsFile file(
      write_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                 R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}})",
                 std::string(4, '\0')));
  EXPECT_EQ(file.tensors().size(), 2u);
}

TEST_F(Safetensors, RefusesFilesThatCannotHoldAHeader) {
  for (const std::string& bytes :
       {std::string(), std::string("1234567"), little_endian(3, 8) + "{}",
        little_endian(UINT64_MAX, 8) + "{}", little_endian(100'000'001, 8) + "{}"}) {
    const auto path = write("model.safetensors", bytes);
    EXPECT_THROW(SafetensorsFile{path}, CheckpointError) << bytes.size();
  }
  EXPECT_THROW(SafetensorsFile{folder_ / "absent"}, CheckpointError);
}

TEST_F(Safetensors, RefusesHeadersThatAreNotWellFormed) {
  expect_refused("{", "", "", "not JSON");
  expect_refused("[]", "", "", "not a JSON object");
  expect_refused(R"({"a":3})", "", "a", "dtype");
  expect_refused(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "1234", "a",
                 "unknown type 'F31'");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234", "a",
                 "'shape'");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "1234", "a",
                 "'data_offsets'");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                 R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                 "1234", "a", "twice");
}

TEST_F(Safetensors, RefusesOffsetsThatDoNotFit) {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  expect_refused(one("[2]", "[0,8]"), "1234", "a", "not inside");
  expect_refused(one("[1]", "[4,0]"), "1234", "a", "not inside");
  expect_refused(one("[2]", "[0,4]"), "1234", "a", "needs 8 bytes");
  expect_refused(one("[4294967296,4294967296]", "[0,4]"), "1234", "a", "overflows");
}

TEST_F(Safetensors, RefusesHolesOverlapsAndTrailingBytes) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + second + "}}";
  };
  expect_refused(two("[0,2]", "[3,5]"), "12345", "b", "begins at byte 3");
  expect_refused(two("[0,2]", "[1,3]"), "123", "b", "begins at byte 1");
  expect_refused(two("[0,2]", "[2,4]"), "12345", "", "end at byte 4");
}

TEST_F(Safetensors, NamesFileAndTensorWhenWhatIsWantedDoesNotFit) {
  const SafetensorsFile file(
      write_file(R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", "1234"));
  EXPECT_THROW(file.find("b", {1}), CheckpointError);
  EXPECT_THROW(file.find("a", {1, 1}), CheckpointError);
  try {
    file.find("a", {1});
    ADD_FAILURE();
  } catch (const CheckpointError& error) {
    EXPECT_EQ(error.tensor(), "a");
    EXPECT_THAT(error.what(), HasSubstr("model.safetensors: tensor 'a': is of type I32"));
  }
}

TEST_F(Safetensors, FollowsTheIndexToTheFileOfEachTensor) {
  write_file(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", little_endian(0x3f80, 2),
             "one.safetensors");
  write_file(R"({"b":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", little_endian(0x4000, 2),
             "two.safetensors");
  write("model.safetensors.index.json",
        R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const Checkpoint checkpoint(folder_);
  float value;
  checkpoint.find("a", {1}).read(0, {&value, 1});
  EXPECT_EQ(value, 1.0f);
  checkpoint.find("b", {1}).read(0, {&value, 1});
  EXPECT_EQ(value, 2.0f);
  EXPECT_THROW(checkpoint.find("c", {1}), CheckpointError);
}

TEST_F(Safetensors, RefusesAnIndexThatDoesNotMatchTheFolder) {
  write_file(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1", "one.safetensors");
  for (const char* index :
       {"{", "{}", R"({"weight_map":[]})", R"({"weight_map":{"a":3}})",
        R"({"weight_map":{"a":"../one.safetensors"}})", R"({"weight_map":{"a":".."}})",
        R"({"weight_map":{"a":"absent.safetensors"}})",
        R"({"weight_map":{"b":"one.safetensors"}})"}) {
    write("model.safetensors.index.json", index);
    EXPECT_THROW(Checkpoint{folder_}, CheckpointError) << index;
  }
}

}  // namespace
}  // namespace syncopate::models::llama
