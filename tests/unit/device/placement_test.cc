#include "storage/device/placement.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace nvmdb::storage {
namespace {

/// Two sockets with eight cores of two hardware threads and six memory modules each.
std::shared_ptr<const Topology> two_sockets() {
  std::ifstream file(NVMDB_SOURCE_DIR "/tests/data/two_sockets_six_modules.xml");
  std::ostringstream text;
  text << file.rdbuf();
  auto topology = Topology::from_xml(text.str());
  EXPECT_TRUE(topology.is_ok()) << topology.status().to_string();
  return std::move(topology).value();
}

std::uint32_t node_of(const Topology& topology, const Seat& seat) {
  return topology.processors()[seat.processor].node;
}

TEST(Topology, ReadsSocketsCoresAndMemoryModules) {
  const auto topology = two_sockets();
  ASSERT_EQ(topology->nodes().size(), 2U);
  ASSERT_EQ(topology->processors().size(), 32U);
  for (const MemoryNode& node : topology->nodes()) {
    EXPECT_TRUE(node.channels_known);
    EXPECT_EQ(node.channels, 6U);
    EXPECT_EQ(node.processors.size(), 16U);
  }
  EXPECT_EQ(topology->words(),
            "2 sockets, 32 processors on 16 cores, 2 memory nodes, memory modules: 6 + 6");
}

TEST(Topology, RefusesWhatIsNoTopology) {
  EXPECT_FALSE(Topology::from_xml("<topology").is_ok());
}

TEST(Topology, BindsNoThreadToAnotherMachine) {
  EXPECT_EQ(two_sockets()->bind_this_thread(0).code(), Code::InvalidArgument);
}

TEST(Seating, ScattersOverNodesThenOverChannels) {
  const auto topology = two_sockets();
  Seating seating(*topology, PlacementPolicy::Scatter);
  const std::vector<Seat> seats = seating.take(12);
  std::set<std::pair<std::uint32_t, std::uint32_t>> channels;
  std::set<std::uint32_t> cores;
  for (std::size_t i = 0; i < seats.size(); ++i) {
    EXPECT_EQ(node_of(*topology, seats[i]), i % 2) << i;
    EXPECT_EQ(seats[i].channel, i / 2) << i;
    channels.insert({seats[i].node, seats[i].channel});
    cores.insert(topology->processors()[seats[i].processor].core);
  }
  EXPECT_EQ(channels.size(), 12U);
  EXPECT_EQ(cores.size(), 12U);
}

TEST(Seating, ScatterUsesAllCoresBeforeSecondHardwareThreadsAndAllOfThoseBeforeSharing) {
  const auto topology = two_sockets();
  Seating seating(*topology, PlacementPolicy::Scatter);
  std::set<std::uint32_t> cores;
  for (const Seat& seat : seating.take(16)) cores.insert(topology->processors()[seat.processor].core);
  EXPECT_EQ(cores.size(), 16U);
  std::set<std::uint32_t> second;
  for (const Seat& seat : seating.take(16)) {
    EXPECT_EQ(topology->processors()[seat.processor].sibling, 1U);
    second.insert(seat.processor);
  }
  EXPECT_EQ(second.size(), 16U);
  for (const Seat& seat : seating.take(16)) EXPECT_EQ(topology->processors()[seat.processor].sibling, 0U);
}

TEST(Seating, CompactFillsOneSocketBeforeTheOther) {
  const auto topology = two_sockets();
  Seating seating(*topology, PlacementPolicy::Compact);
  const std::vector<Seat> seats = seating.take(20);
  std::set<std::uint32_t> first_cores;
  for (std::size_t i = 0; i < seats.size(); ++i) EXPECT_EQ(node_of(*topology, seats[i]), i < 16 ? 0U : 1U) << i;
  for (std::size_t i = 0; i < 8; ++i) first_cores.insert(topology->processors()[seats[i].processor].core);
  EXPECT_EQ(first_cores.size(), 8U);
}

TEST(Placement, PutsLogWritersNearTheRegionAndTheOthersWhereRoomIs) {
  const auto topology = two_sockets();
  const Placement placement = Placement::plan(topology, PlacementPolicy::Scatter, 1U, {6, 10, 4});
  std::set<std::uint32_t> taken;
  std::set<std::uint32_t> channels;
  for (const Seat& seat : placement.seats(ThreadRole::LogWriter)) {
    EXPECT_EQ(node_of(*topology, seat), 1U);
    channels.insert(seat.channel);
    taken.insert(seat.processor);
  }
  EXPECT_EQ(channels.size(), 6U);
  for (const ThreadRole role : {ThreadRole::Worker, ThreadRole::Ingest}) {
    for (const Seat& seat : placement.seats(role)) taken.insert(seat.processor);
  }
  EXPECT_EQ(taken.size(), 20U);
}

TEST(Placement, LeavesThreadsAloneWithPolicyNone) {
  const Placement placement = Placement::plan(two_sockets(), PlacementPolicy::None, std::nullopt, {2, 2, 2});
  EXPECT_TRUE(placement.seats(ThreadRole::LogWriter).empty());
  EXPECT_TRUE(placement.bind_this_thread(ThreadRole::LogWriter, 0).is_ok());
  EXPECT_EQ(placement.words(ThreadRole::Worker), "any");
}

TEST(Placement, BindsThreadsOfThisMachine) {
  auto topology = Topology::machine();
  ASSERT_TRUE(topology.is_ok()) << topology.status().to_string();
  const Placement placement = Placement::plan(*topology, PlacementPolicy::Scatter, std::nullopt, {2, 0, 0});
  for (std::size_t i = 0; i < 2; ++i) {
    std::thread([&] {
      ASSERT_TRUE(placement.bind_this_thread(ThreadRole::LogWriter, i).is_ok());
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
      EXPECT_EQ(CPU_COUNT(&set), 1);
      const Seat& seat = placement.seats(ThreadRole::LogWriter)[i];
      EXPECT_TRUE(CPU_ISSET((*topology)->processors()[seat.processor].os_index, &set));
    }).join();
  }
}

TEST(PlacementPolicy, IsReadFromItsName) {
  EXPECT_EQ(*parse_placement("scatter"), PlacementPolicy::Scatter);
  EXPECT_EQ(*parse_placement("compact"), PlacementPolicy::Compact);
  EXPECT_EQ(*parse_placement("none"), PlacementPolicy::None);
  EXPECT_EQ(parse_placement("near").status().code(), Code::InvalidArgument);
}

}  // namespace
}  // namespace nvmdb::storage
