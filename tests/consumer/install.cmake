# Installs BUILD into PREFIX and leaves a copy under MOVED that cannot lean on it: every file of the
# installation that names PREFIX is a fault.
file(REMOVE_RECURSE ${PREFIX} ${MOVED})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(COPY ${PREFIX}/ DESTINATION ${MOVED})
file(GLOB_RECURSE package ${MOVED}/share/*)
foreach(file IN LISTS package)
  file(STRINGS ${file} lines)
  string(FIND "${lines}" "${PREFIX}" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} names the prefix that it was installed to")
  endif()
endforeach()
