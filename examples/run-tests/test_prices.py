# SPDX-License-Identifier: MIT
# $ belljar run -p test-runner --project examples/run-tests -- python3 -m unittest -v
#
# The tests of a repository that you have just cloned. They run on a copy of it: what they write there is told at the
# end, and your folder stays as it is. One of them wants a service. There is none to be had in here, and a test that
# needs what is not there says so: it neither fails for a reason that is not the code's, nor passes by luck.
import unittest

import prices


class TestTotal(unittest.TestCase):
    def test_nothing_costs_nothing(self):
        self.assertEqual(prices.total([]), 0)

    def test_tax_is_added_once(self):
        self.assertEqual(prices.total([1000, 500]), 1785)

    def test_half_a_cent_goes_up(self):
        self.assertEqual(prices.total([50]), 60)


class TestRates(unittest.TestCase):
    def test_rate_of_today(self):
        try:
            rate = prices.rate_of_today()
        except OSError as error:
            self.skipTest(f"the rate service cannot be reached: {error.strerror}")
        self.assertGreater(rate, 0)


if __name__ == "__main__":
    unittest.main()
