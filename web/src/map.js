// The map: land, grid, people, and my pin. Leaflet moves and zooms it.
import L from "leaflet";
import "leaflet/dist/leaflet.css";
import { CanvasLayer } from "./canvaslayer.js";
import { config } from "./config.js";
import { Grid } from "./grid.js";
import { Land } from "./land.js";
import { People } from "./people.js";
import { paintRing } from "./ring.js";
import { nearestCopy, nice } from "./geo.js";
import { onTheme, reducedMotion } from "./theme.js";

/** A key moves the pin by about this many pixels, and with Shift ten times it. */
const keyPixels = 14;
const bearings = { ArrowUp: 0, ArrowRight: 90, ArrowDown: 180, ArrowLeft: 270 };

export class KithMap {
  constructor(element, live, pin, onSelect) {
    this.pin = pin;
    this.live = live;
    const motion = !reducedMotion();
    this.map = L.map(element, {
      center: pin.at ?? [25, 10], zoom: pin.at ? 12 : 2, minZoom: 2, maxZoom: 19, zoomSnap: 0.25, zoomControl: false, attributionControl: Boolean(config.tiles?.url),
      worldCopyJump: true, zoomAnimation: motion, fadeAnimation: motion, inertia: motion,
    });
    L.control.zoom({ position: "bottomright" }).addTo(this.map);
    L.control.scale({ position: "bottomleft", imperial: false, maxWidth: 140 }).addTo(this.map);
    this.addLayers(onSelect);
    this.addPin();
    pin.on(() => this.onPin());
    onTheme(() => this.redraw());
    this.settle(element);
  }

  addLayers(onSelect) {
    const { map, pin, live } = this;
    this.grid = new Grid();
    this.land = new Land(() => this.ground.redraw());
    const tiles = config.tiles?.url;
    this.ground = new CanvasLayer((ctx, m, size) => {
      if (!tiles) this.land.paint(ctx, m, size);
      this.grid.paint(ctx, m, size, pin.at);
      paintRing(ctx, m, pin, live.radius);
    }, { pane: "overlayPane" });
    if (tiles) {
      L.tileLayer(tiles, { attribution: config.tiles.attribution, maxZoom: 19 }).addTo(map);
      map.attributionControl.setPrefix(false);
    }
    this.crowd = new CanvasLayer((ctx, m, size) => this.people.paint(ctx, m, size, pin), { pane: "overlayPane" });
    this.people = new People(live, () => this.crowd.redraw());
    this.ground.addTo(map);
    this.crowd.addTo(map);
    let radius = 0;
    live.on("change", () => {
      if (live.radius === radius) return;
      radius = live.radius;
      this.ground.redraw();
      if (!this.framed) this.frame();
    });
    map.on("click", (e) => {
      const user = this.people.hit(map, e.containerPoint);
      if (user || pin.at) onSelect(user);
      else pin.moveTo(e.latlng, true);
    });
    map.on("mousemove", (e) => map.getContainer().classList.toggle("over-friend", this.people.hit(map, e.containerPoint) !== ""));
  }

  addPin() {
    const icon = L.divIcon({ className: "me-pin", html: '<span class="me-dot" aria-hidden="true"></span>', iconSize: [44, 44], iconAnchor: [22, 22] });
    this.marker = L.marker(this.map.getCenter(), { icon, draggable: true, keyboard: false, zIndexOffset: 1000, autoPan: true });
    this.marker.on("drag", () => this.pin.moveTo(this.marker.getLatLng(), false));
    this.marker.on("dragend", () => this.pin.moveTo(this.marker.getLatLng(), true));
    this.marker.on("add", () => {
      const el = this.marker.getElement();
      el.id = "my-pin";
      el.tabIndex = 0;
      el.setAttribute("role", "button");
      el.setAttribute("aria-label", "My pin. Arrow keys move it, with Shift farther.");
      el.addEventListener("keydown", (e) => this.onKey(e));
    });
    if (this.pin.at) this.onPin();
  }

  onKey(e) {
    const to = bearings[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    this.pin.step(this.step() * (e.shiftKey ? 10 : 1), to);
    this.keepInSight();
  }

  /** How far a key moves the pin, metres. */
  step() {
    const b = this.map.getBounds();
    const c = this.map.getCenter();
    return nice((keyPixels * this.map.distance([c.lat, b.getWest()], [c.lat, b.getEast()])) / this.map.getSize().x);
  }

  onPin() {
    const { lat, lng } = this.pin.at;
    const shown = L.latLng(lat, nearestCopy(lng, this.map.getCenter().lng));
    if (!this.marker.getLatLng().equals(shown, 1e-9)) this.marker.setLatLng(shown);
    if (!this.map.hasLayer(this.marker)) {
      this.marker.addTo(this.map);
      this.frame();
    }
    if (this.pin.following) this.keepInSight();
    this.ground.redraw();
    this.people.wake(); // the names make room for the pin
  }

  keepInSight() {
    const inner = this.map.getBounds().pad(-0.12);
    if (!inner.contains(this.marker.getLatLng())) this.map.panTo(this.marker.getLatLng(), { animate: !reducedMotion() });
  }

  /** Shows the whole ring around my pin. */
  frame() {
    if (!this.pin.at || !this.live.radius) return;
    this.framed = true;
    const at = L.latLng(this.pin.at.lat, nearestCopy(this.pin.at.lng, this.map.getCenter().lng));
    this.map.fitBounds(at.toBounds(2 * this.live.radius), { padding: [28, 28], animate: false });
  }

  /** Puts my pin in the middle of what is seen. */
  bringPin() {
    this.pin.moveTo(this.map.getCenter(), true);
  }

  select(user) {
    this.people.selected = user;
    this.people.wake();
  }

  show(item) {
    const at = [item.lat, nearestCopy(item.lng, this.map.getCenter().lng)];
    if (!this.map.getBounds().pad(-0.1).contains(at)) this.map.panTo(at, { animate: !reducedMotion() });
  }

  focusPin() {
    this.marker.getElement()?.focus();
  }

  redraw() {
    this.ground.redraw();
    this.crowd.redraw();
  }

  // The map takes every size that the page gives it.
  settle(element) {
    this.watcher = new ResizeObserver(() => this.map.invalidateSize({ animate: false }));
    this.watcher.observe(element);
  }

  shut() {
    this.watcher.disconnect();
    this.map.remove();
  }
}
