# cmake -D COMPILE=compiler;flag;… -D SAYS=regex -D SOURCE=… -P refused.cmake: passes when the compiler refuses SOURCE
# with all the messages that it names behind what SAYS matches, and accepts it with -DCORRECTED.

set(compile ${COMPILE} ${SOURCE})

file(STRINGS ${SOURCE} expected REGEX "${SAYS} ")
if(NOT expected)
  message(FATAL_ERROR "${SOURCE} has no line '// says: TEXT'")
endif()

execute_process(COMMAND ${compile} -DCORRECTED RESULT_VARIABLE result ERROR_VARIABLE messages)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "refused although CORRECTED:\n${messages}")
endif()

execute_process(COMMAND ${compile} RESULT_VARIABLE result ERROR_VARIABLE messages)
if(result EQUAL 0)
  message(FATAL_ERROR "accepted, but has to be refused")
endif()
foreach(line IN LISTS expected)
  string(REGEX REPLACE "${SAYS} " "" text "${line}")
  string(FIND "${messages}" "${text}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "refused, but without '${text}':\n${messages}")
  endif()
endforeach()
