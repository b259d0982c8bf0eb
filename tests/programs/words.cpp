// SPDX-License-Identifier: MIT
// Exceptions, threads, the file system library and sorted containers.
#include <filesystem>
#include <future>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

int main()
{
	std::filesystem::create_directories("deep/er");
	auto thrown = std::async(std::launch::async,
				 []() -> int { throw std::runtime_error("thrown in a thread"); });
	std::map<std::string, int> counts{ { "b", 2 }, { "a", 1 } };
	try {
		thrown.get();
	} catch (const std::exception &e) {
		std::cout << e.what() << ' ' << counts.begin()->first << ' '
			  << std::filesystem::exists("deep/er") << '\n';
	}
}
