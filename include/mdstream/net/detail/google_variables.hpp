#pragma once

/// The variables that say how Google Cloud Storage is reached and with which credentials:
/// docs/stores/gs.md tells what each does.

namespace mdstream::inline v0::net::detail::google_variables {

inline constexpr const char* hmac_id = "GCS_KEY";
inline constexpr const char* hmac_secret = "GCS_SECRET";
inline constexpr const char* file = "GOOGLE_APPLICATION_CREDENTIALS";
inline constexpr const char* config_directory = "CLOUDSDK_CONFIG";
inline constexpr const char* metadata_host = "GCE_METADATA_HOST";
inline constexpr const char* no_metadata = "NO_GCE_CHECK";
inline constexpr const char* quota_project = "GOOGLE_CLOUD_QUOTA_PROJECT";
inline constexpr const char* allow_programs = "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES";
inline constexpr const char* endpoint = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
inline constexpr const char* emulator = "STORAGE_EMULATOR_HOST";

// Of workloads on AWS, in place of the machine's metadata.
inline constexpr const char* aws_region = "AWS_REGION";
inline constexpr const char* aws_default_region = "AWS_DEFAULT_REGION";
inline constexpr const char* aws_id = "AWS_ACCESS_KEY_ID";
inline constexpr const char* aws_secret = "AWS_SECRET_ACCESS_KEY";
inline constexpr const char* aws_session = "AWS_SESSION_TOKEN";

}  // namespace mdstream::inline v0::net::detail::google_variables
