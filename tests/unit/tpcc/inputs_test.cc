#include <gtest/gtest.h>

#include "tpcc/inputs.h"

namespace nvmdb::tpcc {
namespace {

// Clause 4.3.2.3 gives 371 as the example.
TEST(TpccNames, AreThoseOfTheSpecification) {
  EXPECT_EQ(last_name(371), "PRICALLYOUGHT");
  EXPECT_EQ(last_name(40), "BARPRESBAR");
  EXPECT_EQ(last_name(0), "BARBARBAR");
  EXPECT_EQ(last_name(999), "EINGEINGEING");
}

TEST(TpccNames, KeysKeepTheOrderOfNames) {
  for (std::uint32_t a = 0; a < 1000; a += 7) {
    for (std::uint32_t b = 0; b < 1000; b += 11) {
      EXPECT_EQ(customer_name_key(3, 4, last_name(a)) < customer_name_key(3, 4, last_name(b)),
                last_name(a) < last_name(b));
    }
  }
}

// Clause 2.1.6.1.
TEST(TpccConstants, OfLoadAndRunDifferAsTheyMust) {
  EXPECT_FALSE(is_allowed_c_last(0, 64));
  EXPECT_TRUE(is_allowed_c_last(0, 65));
  EXPECT_FALSE(is_allowed_c_last(100, 196));
  EXPECT_FALSE(is_allowed_c_last(212, 100));
  EXPECT_TRUE(is_allowed_c_last(119, 0));
  EXPECT_FALSE(is_allowed_c_last(120, 0));
  SeededRandom random(1);
  for (std::uint32_t load = 0; load < 256; ++load) {
    EXPECT_TRUE(is_allowed_c_last(load, NonUniformConstants::for_run(random, load).c_last));
  }
}

TEST(TpccInputs, HaveTheSharesOfTheSpecification) {
  SeededRandom random(3);
  InputSource source(5, 4, NonUniformConstants::for_load(random));
  constexpr int kCount = 100000;
  double rollbacks = 0, lines = 0, remote_lines = 0, remote_payments = 0, by_name = 0;
  for (int i = 0; i < kCount; ++i) {
    const NewOrderInput order = source.new_order(2, 0);
    ASSERT_TRUE(order.line_count >= 5 && order.line_count <= 15 && order.d_id >= 1 && order.d_id <= 10);
    rollbacks += order.rollback ? 1 : 0;
    for (std::uint32_t line = 0; line < order.line_count; ++line) {
      lines += 1;
      remote_lines += order.lines[line].supply_w_id != 2 ? 1 : 0;
      ASSERT_TRUE(order.lines[line].supply_w_id >= 1 && order.lines[line].supply_w_id <= 4);
      ASSERT_TRUE(order.lines[line].quantity >= 1 && order.lines[line].quantity <= 10);
    }
    const PaymentInput payment = source.payment(2, 0);
    remote_payments += payment.customer.w_id != 2 ? 1 : 0;
    by_name += payment.customer.c_id == 0 ? 1 : 0;
    ASSERT_TRUE(payment.amount >= 100 && payment.amount <= 500000);
  }
  EXPECT_NEAR(rollbacks / kCount, 0.01, 0.002);
  EXPECT_NEAR(lines / kCount, 10, 0.05);
  EXPECT_NEAR(remote_lines / lines, 0.01, 0.001);
  EXPECT_NEAR(remote_payments / kCount, 0.15, 0.01);
  EXPECT_NEAR(by_name / kCount, 0.60, 0.01);
}

}  // namespace
}  // namespace nvmdb::tpcc
