// Stands in the bundle for @mongodb-js/devtools-connect, which looks for the
// system's certificates, proxies and single sign-on: half of the start-up time,
// and nothing that a server in the same box has.
'use strict';

/** Options that are for the replaced package and unknown to the driver. */
const NOT_THE_DRIVERS = [
  'applyProxyToOIDC', 'oidc', 'parentHandle', 'parentState', 'productDocsLink',
  'productName', 'proxy', 'useSystemCA',
];

async function connectMongoClient(uri, options, bus, MongoClient) {
  const known = { ...options };
  for (const name of NOT_THE_DRIVERS) delete known[name];
  const client = new MongoClient(uri, known);
  await client.connect();
  return { client, state: undefined };
}

module.exports = { connectMongoClient };
