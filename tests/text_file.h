// Whole text files.

#ifndef TESTS_TEXT_FILE_H_
#define TESTS_TEXT_FILE_H_

#include <string>

namespace tests {

// Returns an empty text if the file cannot be read.
std::string ReadFile(const std::string& path);

// Creates or overwrites the file. Ends the test if that fails.
void WriteFile(const std::string& path, const std::string& content);

}  // namespace tests

#endif  // TESTS_TEXT_FILE_H_
