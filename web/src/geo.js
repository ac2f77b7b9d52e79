// Points on the sphere, as the server measures them, and how they are said.

/** Radius of the sphere in metres, as in the server's geo package. */
export const EARTH = 6_371_008.8;

const rad = (deg) => (deg * Math.PI) / 180;
const deg = (r) => (r * 180) / Math.PI;

/** Great-circle distance in metres (haversine). */
export function distance(a, b) {
  const sLat = Math.sin(rad(b.lat - a.lat) / 2);
  const sLng = Math.sin(rad(b.lng - a.lng) / 2);
  const h = sLat * sLat + Math.cos(rad(a.lat)) * Math.cos(rad(b.lat)) * sLng * sLng;
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Initial bearing from a to b, degrees from north in [0, 360). */
export function bearing(a, b) {
  const dLng = rad(b.lng - a.lng);
  const y = Math.sin(dLng) * Math.cos(rad(b.lat));
  const x = Math.cos(rad(a.lat)) * Math.sin(rad(b.lat)) - Math.sin(rad(a.lat)) * Math.cos(rad(b.lat)) * Math.cos(dLng);
  return (deg(Math.atan2(y, x)) + 360) % 360;
}

/** The point so many metres from a along a bearing. */
export function destination(a, metres, bearingDeg) {
  const d = metres / EARTH;
  const t = rad(bearingDeg);
  const lat = Math.asin(Math.sin(rad(a.lat)) * Math.cos(d) + Math.cos(rad(a.lat)) * Math.sin(d) * Math.cos(t));
  const lng = rad(a.lng) + Math.atan2(Math.sin(t) * Math.sin(d) * Math.cos(rad(a.lat)), Math.cos(d) - Math.sin(rad(a.lat)) * Math.sin(lat));
  return canonical({ lat: deg(lat), lng: deg(lng) });
}

/** Latitude within what the map can show, longitude in [-180, 180). */
export function canonical({ lat, lng }) {
  const wrapped = ((((lng + 180) % 360) + 360) % 360) - 180;
  return { lat: Math.max(-85, Math.min(85, lat)), lng: wrapped };
}

/** lng, shifted by whole turns to be the copy nearest to that of another point. */
export const nearestCopy = (lng, to) => lng + 360 * Math.round((to - lng) / 360);

const winds = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"];

/** The compass word of a bearing. */
export const wind = (bearingDeg) => winds[Math.round(bearingDeg / 45) % 8];

/** "240 m", "1.2 km", "34 km". */
export function metres(m) {
  if (m < 100) return `${Math.round(m)} m`;
  if (m < 995) return `${Math.round(m / 10) * 10} m`;
  return m < 9_950 ? `${(m / 1000).toFixed(1)} km` : `${Math.round(m / 1000)} km`;
}

/** "now", "12 s", "3 min", "2 h" for a time in milliseconds. */
export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  return s < 86_400 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}

/** "just now" or "12 s ago". */
export const ago = (ms) => (ms < 2000 ? "just now" : `${duration(ms)} ago`);

/** The largest of 1, 2, 5 × 10ⁿ that is not above x. */
export function nice(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  const lead = x / power;
  return (lead >= 5 ? 5 : lead >= 2 ? 2 : 1) * power;
}
