#include "engine/field_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "engine/catalogue_rows.h"
#include "storage/base/fail_point.h"
#include "tests/support/fields/field_fixture.h"
#include "tests/support/recorded_media.h"

namespace nvmdb::engine {
namespace {

using test::FieldSpec;
using test::Stack;

class FieldStoreTest : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    stack_ = Stack{};
    Result<Stack> opened = Stack::open(media_);
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    stack_ = std::move(*opened);
  }
  /// Puts and commits one step of T2 on a 30 x 20 grid.
  StepAck put_step(const std::string& model, std::int64_t step, float base) {
    std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run(model, 0)).value();
    const GridId grid = writer->grid(test::small_grid(30, 20)).value();
    EXPECT_TRUE(test::put_field(*writer, grid, 600, {.step_seconds = step, .base = base}).is_ok());
    return writer->commit_step(step).value();
  }
  std::uint64_t field_pages() { return stack_.database->pages().pages_of(storage::PageKind::Field); }

  test::RecordedMedia media_{{.pages = 64}};
  Stack stack_;
};

TEST_F(FieldStoreTest, AnswersTheValuesThatWerePut) {
  const StepAck ack = put_step("wrf", 3600, 100);
  EXPECT_EQ(ack.fields_stored, 1U);
  const ReadView view = stack_.store->view().value();
  const auto column = test::checked_column(stack_, view, ack.run, "T2").value();
  ASSERT_EQ(column->fields.size(), 1U);
  std::vector<float> values(600);
  column->fields[0].decoder().run(0, values);
  EXPECT_EQ(values, test::numbered_values(600, 100));
}

TEST_F(FieldStoreTest, StepIsInvisibleUntilCommitted) {
  std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
  const GridId grid = writer->grid(test::small_grid(30, 20)).value();
  ASSERT_TRUE(test::put_field(*writer, grid, 600, {}).is_ok());
  EXPECT_TRUE(stack_.catalogue->runs()->empty());
  ASSERT_TRUE(writer->commit_step(0).is_ok());
  EXPECT_EQ(stack_.catalogue->runs()->size(), 1U);
}

/// Hashes that are alike cannot be found, so one is forged: the name of run b leads to run a.
TEST_F(FieldStoreTest, RefusesANameThatHasTheHashOfAnother) {
  const StepAck ack = put_step("a", 3600, 100);
  const index::Key hash = rows::hash_key(rows::encode_run_key(test::described_run("b", 0).key));
  const Status forged = stack_.database->run_durable(
      [&](Transaction& t) { return t.put(rows::kRunNameTable, hash, rows::encode_number(ack.run)); });
  ASSERT_TRUE(forged.is_ok());
  const auto writer = stack_.store->write(test::described_run("b", 0));
  EXPECT_EQ(writer.status().code(), Code::Conflict) << writer.status().to_string();
  EXPECT_TRUE(stack_.store->write(test::described_run("a", 0)).is_ok());
}

TEST_F(FieldStoreTest, ColumnHoldsStepsInOrderAndSeesNewOnes) {
  const RunId run = put_step("wrf", 7200, 2).run;
  const ReadView view = stack_.store->view().value();
  EXPECT_EQ(test::checked_column(stack_, view, run, "T2").value()->fields.size(), 1U);
  put_step("wrf", 3600, 1);
  const auto column = test::checked_column(stack_, view, run, "T2").value();
  ASSERT_EQ(column->fields.size(), 2U);
  EXPECT_EQ(column->fields[0].decoder().at(0), 1.0F);
  EXPECT_EQ(column->fields[1].decoder().at(0), 2.0F);
}

TEST_F(FieldStoreTest, SameFieldAgainChangesNothing) {
  put_step("wrf", 0, 5);
  const std::uint64_t last = stack_.catalogue->last_event().value();
  const StepAck again = put_step("wrf", 0, 5);
  EXPECT_EQ(again.fields_stored, 0U);
  EXPECT_EQ(again.fields_unchanged, 1U);
  EXPECT_EQ(stack_.catalogue->last_event().value(), last);
}

TEST_F(FieldStoreTest, ChangedFieldReplacesTheOldOne) {
  const RunId run = put_step("wrf", 0, 5).run;
  put_step("wrf", 0, 6);
  const ReadView view = stack_.store->view().value();
  const auto column = test::checked_column(stack_, view, run, "T2").value();
  ASSERT_EQ(column->fields.size(), 1U);
  EXPECT_EQ(column->fields[0].decoder().at(0), 6.0F);
  const std::vector<Event> events = stack_.catalogue->events_after(0, 10).value();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].kind, Event::Kind::StepReplaced);
  EXPECT_EQ(stack_.catalogue->run(run)->field_count, 1U);
}

TEST_F(FieldStoreTest, EverythingIsThereAfterReopening) {
  const RunId run = put_step("wrf", 0, 5).run;
  put_step("wrf", 3600, 6);
  open();
  const ReadView view = stack_.store->view().value();
  const auto column = test::checked_column(stack_, view, run, "T2").value();
  ASSERT_EQ(column->fields.size(), 2U);
  EXPECT_EQ(column->fields[1].decoder().at(599), 6.0F + 599.0F);
  EXPECT_EQ(stack_.catalogue->steps(run)->size(), 2U);
  EXPECT_EQ(stack_.catalogue->last_event().value(), 2U);
  EXPECT_EQ(stack_.catalogue->change_count(), 2U);
}

TEST_F(FieldStoreTest, DroppedRunIsGoneAndItsPagesAreFree) {
  const RunId run = put_step("wrf", 0, 5).run;
  put_step("gfs", 0, 5);
  const std::uint64_t before = field_pages();
  ASSERT_TRUE(stack_.store->drop(run).is_ok());
  EXPECT_EQ(stack_.catalogue->run(run).status().code(), Code::NotFound);
  EXPECT_EQ(stack_.catalogue->runs()->size(), 1U);
  stack_.database->reclaim();
  EXPECT_EQ(field_pages(), before - 1);
  EXPECT_EQ(stack_.store->drop(run).code(), Code::NotFound);
  EXPECT_NE(put_step("wrf", 0, 5).run, run);
}

TEST_F(FieldStoreTest, ReaderKeepsADroppedRunReadable) {
  const RunId run = put_step("wrf", 0, 5).run;
  {
    const ReadView view = stack_.store->view().value();
    const auto column = test::checked_column(stack_, view, run, "T2").value();
    ASSERT_TRUE(stack_.store->drop(run).is_ok());
    put_step("other", 0, 77);
    stack_.database->reclaim();
    EXPECT_TRUE(stack_.store->verify(view, column->fields[0]).is_ok());
    EXPECT_EQ(test::checked_column(stack_, view, run, "T2").status().code(), Code::NotFound);
  }
  stack_.database->reclaim();
  EXPECT_EQ(field_pages(), 1U);
}

TEST_F(FieldStoreTest, DropWaitsForItsWriters) {
  const RunId run = put_step("wrf", 0, 5).run;
  const std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
  EXPECT_EQ(stack_.store->drop(run).code(), Code::Conflict);
}

TEST_F(FieldStoreTest, AbandonedIngestLeavesNoPages) {
  {
    std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
    const GridId grid = writer->grid(test::small_grid(1000, 900)).value();
    ASSERT_TRUE(test::put_field(*writer, grid, 900'000, {}).is_ok());
    EXPECT_EQ(field_pages(), 2U);
  }
  EXPECT_EQ(field_pages(), 0U);
}

TEST_F(FieldStoreTest, CurvilinearGridKeepsItsPositions) {
  std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
  const met::Grid grid = test::small_curvilinear_grid(10, 8, 100);
  const GridId id = writer->grid(grid).value();
  EXPECT_EQ(writer->grid(grid).value(), id);
  EXPECT_NE(writer->grid(test::small_curvilinear_grid(10, 8, 101)).value(), id);
  ASSERT_TRUE(test::put_field(*writer, id, 80, {}).is_ok());
  ASSERT_TRUE(writer->commit_step(0).is_ok());
  writer.reset();
  open();
  EXPECT_EQ(stack_.catalogue->grid(id).value()->longitudes, grid.longitudes);
}

TEST_F(FieldStoreTest, PositionsOfAGridGoWithTheLastRunThatUsesIt) {
  const met::Grid shared = test::small_curvilinear_grid(10, 8, 100);
  for (int round = 0; round < 200; ++round) {
    std::vector<RunId> runs;
    for (const char* model : {"a", "b"}) {
      std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run(model, 0)).value();
      const GridId own = writer->grid(test::small_curvilinear_grid(400, 300, static_cast<float>(round))).value();
      ASSERT_TRUE(writer->grid(shared).is_ok());
      ASSERT_TRUE(test::put_field(*writer, own, 120'000, {}).is_ok());
      ASSERT_TRUE(writer->commit_step(0).is_ok());
      runs.push_back(writer->run());
    }
    ASSERT_TRUE(stack_.store->drop(runs[0]).is_ok());
    const engine::Run left = stack_.catalogue->run(runs[1]).value();
    const std::vector<InventoryRow> inventory = stack_.catalogue->inventory(left.id).value();
    EXPECT_TRUE(stack_.catalogue->grid(inventory.front().grid).is_ok());
    ASSERT_TRUE(stack_.store->drop(runs[1]).is_ok());
    stack_.database->reclaim();
    ASSERT_EQ(field_pages(), 0U) << "after round " << round;
  }
}

TEST_F(FieldStoreTest, ADropThatFailsHalfWayGoesOnLater) {
  for (const char* point : {"drop.fields_erased", "drop.grids_erased"}) {
    const RunId run = put_step("wrf", 0, 1).run;
    // By its number again; it fails a second time.
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(FailPoint::arm(std::string(point) + ":1:error").is_ok());
      const Status failed = stack_.store->drop(run);
      EXPECT_EQ(failed.code(), Code::IoError) << failed.message();
      EXPECT_NE(failed.message().find("run wrf d01 1970-01-01T00Z is dropped, but"), std::string::npos) << failed.message();
      EXPECT_TRUE(stack_.catalogue->runs()->empty());
      EXPECT_EQ(field_pages(), 1U);
    }
    ASSERT_TRUE(FailPoint::arm("").is_ok());
    EXPECT_EQ(stack_.store->drop(run).code(), Code::NotFound) << "it is gone, so it cannot be dropped";
    stack_.database->reclaim();
    EXPECT_EQ(field_pages(), 0U) << point;
  }
  // By the next writer.
  const RunId run = put_step("wrf", 0, 1).run;
  ASSERT_TRUE(FailPoint::arm("drop.fields_erased:1:error").is_ok());
  EXPECT_FALSE(stack_.store->drop(run).is_ok());
  const StepAck again = put_step("wrf", 0, 2);
  EXPECT_NE(again.run, run);
  stack_.database->reclaim();
  EXPECT_EQ(field_pages(), 1U) << "pages of the run that was put again";
}

TEST_F(FieldStoreTest, DamagedFieldIsNamed) {
  const RunId run = put_step("wrf", 0, 5).run;
  const ReadView view = stack_.store->view().value();
  const auto column = test::checked_column(stack_, view, run, "T2").value();
  const storage::Extent at = column->fields[0].field.extent;
  const std::byte flipped = media_.region(0).data()[at.offset + 17] ^ std::byte{1};
  media_.poke(at.region + 1, at.offset + 17, ByteSpan(&flipped, 1));
  const Status status = stack_.store->verify(view, column->fields[0]);
  EXPECT_EQ(status.code(), Code::Corruption);
  EXPECT_NE(status.message().find("offset " + std::to_string(at.offset)), std::string::npos);
}

TEST_F(FieldStoreTest, RefusesWhatDoesNotFit) {
  std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
  const GridId grid = writer->grid(test::small_grid(30, 20)).value();
  FieldHeader header;
  header.grid = grid;
  header.points = 601;
  EXPECT_EQ(writer->begin_field(header).code(), Code::InvalidArgument);
  header.points = 600;
  ASSERT_TRUE(writer->begin_field(header).is_ok());
  EXPECT_EQ(writer->write(2400, Bytes(1)).code(), Code::InvalidArgument);
  EXPECT_EQ(writer->end_field({}).code(), Code::InvalidArgument);
}

TEST_F(FieldStoreTest, LastOfTwoFieldsWithOneKeyCountsEachTime) {
  for (int round = 0; round < 2; ++round) {
    std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
    const GridId grid = writer->grid(test::small_grid(30, 20)).value();
    ASSERT_TRUE(test::put_field(*writer, grid, 600, {.base = 1}).is_ok());
    ASSERT_TRUE(test::put_field(*writer, grid, 600, {.base = 2}).is_ok());
    const StepAck ack = writer->commit_step(0).value();
    EXPECT_EQ(ack.fields_stored, round == 0 ? 1U : 0U);
    const ReadView view = stack_.store->view().value();
    EXPECT_EQ(test::checked_column(stack_, view, ack.run, "T2").value()->fields[0].decoder().at(0), 2.0F);
  }
}

TEST_F(FieldStoreTest, FailedFenceLosesNoPage) {
  const RunId run = put_step("wrf", 0, 5).run;
  for (std::uint64_t after = 0; after < 8; ++after) {
    media_.fail_fences(after, 1000);
    {
      const auto writer = stack_.store->write(test::described_run("wrf", 0));
      if (writer.is_ok()) {
        const auto grid = (*writer)->grid(test::small_grid(30, 20));
        if (grid.is_ok() &&
            test::put_field(**writer, *grid, 600, {.step_seconds = 3600, .base = static_cast<float>(after)}).is_ok()) {
          EXPECT_FALSE((*writer)->commit_step(3600).is_ok() && after == 0);
        }
      }
    }
    media_.fail_fences(0, 0);
    open();
    const ReadView view = stack_.store->view().value();
    EXPECT_TRUE(test::checked_column(stack_, view, run, "T2").is_ok()) << after;
  }
}

TEST_F(FieldStoreTest, RunCanBeDroppedWhenThePoolIsFull) {
  RunId run = 0;
  for (int step = 0;; ++step) {
    std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
    const GridId grid = writer->grid(test::small_grid(600, 500)).value();
    const Status put = test::put_field(*writer, grid, 300'000, {.step_seconds = step, .base = static_cast<float>(step)});
    if (!put.is_ok()) {
      EXPECT_EQ(put.code(), Code::OutOfSpace);
      EXPECT_NE(put.message().find("drop a run"), std::string::npos);
      break;
    }
    run = writer->commit_step(step).value().run;
  }
  ASSERT_TRUE(stack_.store->drop(run).is_ok());
  stack_.database->reclaim();
  EXPECT_EQ(field_pages(), 0U);
  EXPECT_EQ(put_step("wrf", 0, 1).fields_stored, 1U);
}

TEST_F(FieldStoreTest, StepOfManyFieldsIsOneStep) {
  std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("ens", 0)).value();
  const GridId grid = writer->grid(test::small_grid(2, 2)).value();
  for (std::uint32_t member = 0; member < 3000; ++member) {
    ASSERT_TRUE(test::put_field(*writer, grid, 4, {.member = member, .base = static_cast<float>(member)}).is_ok());
  }
  EXPECT_EQ(writer->commit_step(0).value().fields_stored, 3000U);
}

TEST_F(FieldStoreTest, OtherGridUnderTheSameNamesIsRefused) {
  const RunId run = put_step("wrf", 0, 5).run;
  {
    std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
    const GridId other = writer->grid(test::small_grid(20, 30)).value();
    EXPECT_EQ(test::put_field(*writer, other, 600, {}).code(), Code::Conflict);
  }
  const ReadView view = stack_.store->view().value();
  EXPECT_EQ(test::checked_column(stack_, view, run, "T2").value()->fields[0].decoder().at(0), 5.0F);
}

TEST_F(FieldStoreTest, RefusesNamesThatBreakLists) {
  for (const char* model : {"", "a/b", "a\nb", "\x7f"}) {
    EXPECT_EQ(stack_.store->write(test::described_run(model, 0)).status().code(), Code::InvalidArgument) << model;
  }
  EXPECT_EQ(stack_.store->write(test::described_run(std::string(129, 'x'), 0)).status().code(), Code::InvalidArgument);
}

TEST_F(FieldStoreTest, FullPoolLosesNothing) {
  const RunId run = put_step("wrf", 0, 5).run;
  std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("big", 0)).value();
  const GridId grid = writer->grid(test::small_grid(6000, 6000)).value();
  const Status full = test::put_field(*writer, grid, 36'000'000, {});
  EXPECT_EQ(full.code(), Code::OutOfSpace);
  writer.reset();
  const ReadView view = stack_.store->view().value();
  EXPECT_TRUE(test::checked_column(stack_, view, run, "T2").is_ok());
  EXPECT_EQ(put_step("wrf", 3600, 6).fields_stored, 1U);
}

TEST_F(FieldStoreTest, ReadersSeeWholeStepsWhileWritersCommit) {
  put_step("wrf", 0, 0);
  const RunId run = stack_.catalogue->runs()->front().id;
  std::atomic<bool> done{false};
  std::thread writer_thread([&] {
    for (int step = 1; step <= 60; ++step) {
      std::unique_ptr<RunWriter> writer = stack_.store->write(test::described_run("wrf", 0)).value();
      const GridId grid = writer->grid(test::small_grid(30, 20)).value();
      for (const char* name : {"T2", "U10"}) {
        const FieldSpec spec{.parameter = name, .step_seconds = step * 60, .base = static_cast<float>(step)};
        EXPECT_TRUE(test::put_field(*writer, grid, 600, spec).is_ok());
      }
      EXPECT_TRUE(writer->commit_step(step * 60).is_ok());
    }
    done = true;
  });
  while (!done) {
    const ReadView view = stack_.store->view().value();
    const auto wind = test::checked_column(stack_, view, run, "U10");
    const auto temperature = test::checked_column(stack_, view, run, "T2");
    if (!wind.is_ok()) continue;
    // U10 was read first: every step it has, T2 has too (and step 0 besides).
    EXPECT_GE(temperature.value()->fields.size(), wind.value()->fields.size() + 1);
  }
  writer_thread.join();
}

}  // namespace
}  // namespace nvmdb::engine
