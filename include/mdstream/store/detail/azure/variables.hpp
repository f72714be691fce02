#pragma once

/// The variables that say how Azure Storage is reached and with which credentials:
/// docs/stores/azure.md tells what each does.

namespace mdstream::inline v0::detail::azure::variable {

inline constexpr const char* account = "AZURE_ACCOUNT_NAME";
inline constexpr const char* account_key = "AZURE_ACCOUNT_ACCESS_KEY";
inline constexpr const char* sas = "AZURE_STORAGE_SAS_TOKEN";
inline constexpr const char* connection = "AZURE_STORAGE_CONNECTION_STRING";

inline constexpr const char* tenant = "AZURE_TENANT_ID";
inline constexpr const char* client = "AZURE_CLIENT_ID";
inline constexpr const char* client_secret = "AZURE_CLIENT_SECRET";
inline constexpr const char* certificate = "AZURE_CLIENT_CERTIFICATE_PATH";
inline constexpr const char* certificate_password = "AZURE_CLIENT_CERTIFICATE_PASSWORD";
inline constexpr const char* certificate_chain = "AZURE_CLIENT_SEND_CERTIFICATE_CHAIN";
inline constexpr const char* federated_token = "AZURE_FEDERATED_TOKEN_FILE";
inline constexpr const char* authority = "AZURE_AUTHORITY_HOST";

inline constexpr const char* config_directory = "AZURE_CONFIG_DIR";
inline constexpr const char* subscription = "AZURE_SUBSCRIPTION_ID";

inline constexpr const char* identity_endpoint = "IDENTITY_ENDPOINT";
inline constexpr const char* identity_header = "IDENTITY_HEADER";
inline constexpr const char* pod_identity = "AZURE_POD_IDENTITY_AUTHORITY_HOST";

}  // namespace mdstream::inline v0::detail::azure::variable
