#include <mdstream/mdstream.hpp>
