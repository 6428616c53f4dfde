#include "experiments/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/experiments/scratch.h"

namespace syncopate::experiments {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

void write_whole(RunFolder& folder, const std::string& text) {
  folder.write("config.yaml", text);
  folder.write("metrics.json", text);
}

TEST(RunFolder, IsThereOnlyAfterCommit) {
  const Scratch scratch;
  const fs::path target = scratch.folder() / "runs" / "a";
  RunFolder folder(target, false);
  write_whole(folder, "1");
  EXPECT_FALSE(fs::exists(target));
  folder.commit();
  EXPECT_THAT(names_in(target), ElementsAre("config.yaml", "metrics.json"));
  EXPECT_THAT(names_in(target.parent_path()), ElementsAre("a"));
}

TEST(RunFolder, LeavesNothingWithoutCommit) {
  const Scratch scratch;
  {
    RunFolder folder(scratch.folder() / "a", false);
    write_whole(folder, "1");
  }
  EXPECT_THAT(names_in(scratch.folder()), IsEmpty());
}

TEST(RunFolder, RemovesWhatAKilledRunLeftAndNothingElse) {
  const Scratch scratch;
  scratch.write(".a.partial-killed/config.yaml", "1");
  scratch.write(".a.partial-killed.old/config.yaml", "a run on its way out");
  scratch.write(".ab.partial-killed/config.yaml", "another target's");
  RunFolder alive(scratch.folder() / "a", false);
  write_whole(alive, "alive");
  RunFolder next(scratch.folder() / "a", false);
  EXPECT_THAT(names_in(scratch.folder()),
              UnorderedElementsAre(".a.partial-killed.old", ".ab.partial-killed",
                                   alive.folder().filename(), next.folder().filename()));
  alive.commit();
  EXPECT_EQ(read_text(scratch.folder() / "a/metrics.json"), "alive");
}

TEST(RunFolder, OfManyInOneFolderWhatWasKilledIsRemovedAtOnce) {
  const Scratch scratch;
  scratch.write(".a.partial-killed/config.yaml", "1");
  scratch.write(".b.partial-killed/config.yaml", "1");
  scratch.write("partial-killed/config.yaml", "a run of that name");
  RunFolder alive(scratch.folder() / "a", false, Abandoned::kLeave);
  EXPECT_EQ(names_in(scratch.folder()).size(), 4);
  PartialFolder::remove_abandoned(scratch.folder());
  EXPECT_THAT(names_in(scratch.folder()),
              UnorderedElementsAre(alive.folder().filename(), "partial-killed"));
}

TEST(RunFolder, ReplacesARunOnlyWhenForcedAndOnlyAtCommit) {
  const Scratch scratch;
  const fs::path target = scratch.folder() / "a";
  {
    RunFolder first(target, false);
    write_whole(first, "1");
    first.write("extra", "1");
    first.commit();
  }
  EXPECT_THROW(RunFolder(target, false), RunFolderExistsError);
  {
    RunFolder given_up(target, true);
    write_whole(given_up, "2");
  }
  EXPECT_EQ(read_text(target / "metrics.json"), "1");
  RunFolder second(target, true);
  write_whole(second, "3");
  EXPECT_EQ(read_text(target / "metrics.json"), "1");
  second.commit();
  EXPECT_EQ(read_text(target / "metrics.json"), "3");
  EXPECT_THAT(names_in(target), ElementsAre("config.yaml", "metrics.json")) << "no mix of both";
  EXPECT_THAT(names_in(scratch.folder()), ElementsAre("a"));
}

TEST(RunFolder, NeverReplacesWhatIsNoRun) {
  const Scratch scratch;
  scratch.write("folder/precious.txt", "1");
  scratch.write("file", "1");
  EXPECT_THROW(RunFolder(scratch.folder() / "folder", true), RunFolderExistsError);
  EXPECT_THROW(RunFolder(scratch.folder() / "file", true), RunFolderExistsError);
  EXPECT_EQ(read_text(scratch.folder() / "folder/precious.txt"), "1");
}

TEST(RunFolder, TakesAnEmptyFolderAndATrailingSlash) {
  const Scratch scratch;
  fs::create_directory(scratch.folder() / "empty");
  RunFolder folder(scratch.folder() / "empty/", false);
  write_whole(folder, "1");
  folder.commit();
  EXPECT_EQ(read_text(scratch.folder() / "empty/metrics.json"), "1");
}

TEST(RunFolder, ThatAppearsDuringTheRunIsNotOverwritten) {
  const Scratch scratch;
  RunFolder late(scratch.folder() / "a", false);
  write_whole(late, "late");
  RunFolder early(scratch.folder() / "a", false);
  write_whole(early, "early");
  early.commit();
  EXPECT_THROW(late.commit(), RunFolderExistsError);
  EXPECT_EQ(read_text(scratch.folder() / "a/metrics.json"), "early");
}

TEST(RunFolder, SaysWhereNoFolderCanBe) {
  const Scratch scratch;
  scratch.write("file", "1");
  try {
    check_target(scratch.folder() / "file" / "run", false);
    FAIL() << "no error";
  } catch (const RunFolderError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot make a folder in"));
  }
}

TEST(RunFolder, SaysThatANameIsTooLongBeforeTheRun) {
  const Scratch scratch;
  for (const std::size_t length : {250U, 255U, 300U, 5000U}) {  // 250 leave no room beside it
    try {
      check_target(scratch.folder() / std::string(length, 'n'), false);
      FAIL() << "no error for " << length;
    } catch (const RunFolderError& error) {
      EXPECT_THAT(error.what(), HasSubstr("File name too long"));
    }
  }
  EXPECT_NO_THROW(check_target(scratch.folder() / std::string(230, 'n'), false));
}

TEST(RunFolder, NeedsAWritableFolderAroundItWhateverStandsThere) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Scratch scratch;
  const fs::path around = scratch.folder() / "around";
  fs::create_directories(around / "empty");
  scratch.write("around/run/config.yaml", "1");
  scratch.write("around/run/metrics.json", "1");
  fs::permissions(around, fs::perms::owner_read | fs::perms::owner_exec);
  for (const char* name : {"none", "empty", "run"}) {
    EXPECT_THROW(check_target(around / name, true), RunFolderError) << name;
  }
  fs::permissions(around, fs::perms::owner_all);
}

}  // namespace
}  // namespace syncopate::experiments
